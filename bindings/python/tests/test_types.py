"""The type hints say of the module what is there, and nothing else."""

import ast
import pathlib

import pytest

import braiddb
from braiddb import _core

STUB = ast.parse((pathlib.Path(braiddb.__file__).parent / "_core.pyi").read_text())
OF_EVERY_OBJECT = set(dir(object)) | {"__module__", "__dict__", "__weakref__"}


def public(owner):
    return {name for name in vars(owner) if name not in OF_EVERY_OBJECT} | (
        {"__init__"} if owner is _core.Database else set())


def stub_names(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(braiddb.__file__).parent / "py.typed").is_file()


def test_every_name_of_the_module_is_in_the_hints():
    there = {name for name in vars(_core) if not name.startswith("__")}
    assert there == {name for name in stub_names(STUB.body) if not name.startswith("_T")}


@pytest.mark.parametrize("name", ["Database", "WriteBatch", "Snapshot", "Iterator", "RawIterator"])
def test_every_method_is_in_the_hints(name):
    hidden = {"__class_getitem__"}
    assert public(getattr(_core, name)) - hidden == stub_names(CLASSES[name].body) - hidden


@pytest.mark.parametrize("name", ["Database", "WriteBatch", "Snapshot", "Iterator", "RawIterator"])
def test_arguments_have_the_names_that_the_hints_say(name):
    for node in CLASSES[name].body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
            continue
        signature = getattr(getattr(_core, name), node.name).__doc__.splitlines()[0]
        for argument in node.args.args[1:] + node.args.kwonlyargs:
            assert f"{argument.arg}: " in signature, (node.name, signature)


def test_everything_public_is_there():
    for name in braiddb.__all__:
        assert hasattr(braiddb, name)
