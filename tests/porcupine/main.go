// Checks recorded histories with Porcupine: a second opinion on what tests/support/linearizability.h
// accepts, by a checker of another make with a model of its own.
//
//	porcupine HISTORIES    exit code 0: every history is linearizable, and every doctored copy of
//	                       one, which can't be, is rejected
//
// HISTORIES has one history a line, as tests/support/history_file.h writes it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history that takes longer than this counts as not decided, which is a failure.
const patience = 30 * time.Second

// Histories that are doctored as well; the others are checked as they are.
const doctored = 500

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: porcupine HISTORIES")
		os.Exit(2)
	}
	histories, err := readHistories(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "porcupine:", err)
		os.Exit(2)
	}
	failures, operations := 0, 0
	for _, h := range histories {
		operations += len(h.Operations)
		if verdict := check(h); verdict != porcupine.Ok {
			fmt.Printf("line %d is not linearizable (%s): %s\n", h.line, verdict, h.text)
			failures++
		}
	}
	fmt.Printf("%d histories of %d operations: %d not linearizable\n", len(histories), operations,
		failures)
	missed := checkDoctored(histories)
	if len(histories) == 0 || failures+missed > 0 {
		os.Exit(1)
	}
}

// checkDoctored feeds the checker histories that must be rejected, and their honest twins.
func checkDoctored(histories []history) int {
	wrong, missed := 0, 0
	for i, h := range histories {
		if i == doctored {
			break
		}
		if h.hasUnknown() {
			continue
		}
		for _, d := range doctors {
			if verdict := check(d.apply(h)); verdict != d.verdict {
				fmt.Printf("line %d, %s: %s, expected %s: %s\n", h.line, d.name, verdict, d.verdict,
					h.text)
				missed++
			}
			if d.verdict == porcupine.Illegal {
				wrong++
			}
		}
	}
	fmt.Printf("%d doctored histories: %d judged wrongly\n", wrong, missed)
	if wrong == 0 && !allHaveUnknown(histories) {
		missed++
	}
	return missed
}

func allHaveUnknown(histories []history) bool {
	for _, h := range histories {
		if !h.hasUnknown() {
			return false
		}
	}
	return true
}

func check(h history) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(modelFrom(h.Initial), h.events(), patience)
}

func readHistories(path string) ([]history, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var histories []history
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for n := 1; lines.Scan(); n++ {
		h := history{line: n, text: lines.Text()}
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		sort.SliceStable(h.Operations, func(i, j int) bool {
			return h.Operations[i].Call < h.Operations[j].Call
		})
		if err := h.validate(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		histories = append(histories, h)
	}
	return histories, lines.Err()
}
