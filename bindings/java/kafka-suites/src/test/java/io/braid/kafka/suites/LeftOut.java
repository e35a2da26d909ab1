package io.braid.kafka.suites;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Skips what is left out of a method with parameters; JUnit finds it by its list of services. */
public final class LeftOut implements ExecutionCondition {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    return context.getTestMethod()
        .flatMap(method -> Exclusions.LIST.reason(
            Selection.classOf(context.getRequiredTestClass().getName()), method.getName(),
            context.getDisplayName()))
        .map(ConditionEvaluationResult::disabled)
        .orElse(ConditionEvaluationResult.enabled("it is on no list"));
  }
}
