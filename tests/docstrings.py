"""Validation of the public docstrings by numpydoc: ``python -m tests.docstrings [room ...]``.

Public are the classes and functions in the ``__all__`` of `miserly` and of every package inside it, and the
public methods and properties of those classes. They belong to the room that defines them (`tests.rooms`).
Without a name every room outside `UNFINISHED` is validated; ``--all`` includes those.

Checks of numpydoc that are left out:

- SS05 (infinitive verb): summaries may start with a noun that ends in "s".
- ES01 (extended summary): only estimators need one.
- EX01 (examples): functions of rooms, abstract classes, dataclasses and exceptions need none.
- RT02 (type alone in Returns): a returned value may have a name.
- RT03 (description in Returns): the summary often describes the value already.
- GL01, GL02 (position of the quotes): ruff formats docstrings.
- SA01 to SA04 (See Also) and GL09, GL10 (directives): not used here.

Three checks are added: AT01 (an attribute that ``fit`` sets is missing under Attributes), ST01 (the title of
a section is on one line with its underline, so that the section is lost), and an override without a docstring
must have the parameters of the method that documents it (GL08).
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NamedTuple

from tests.rooms import Finding, report, room_named

# Rooms whose docstrings are not complete yet. This list only gets shorter.
UNFINISHED: tuple[str, ...] = ()

CHECKS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04", "SS06", "ES01"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT04", "RT05", "YD01", "EX01", "AT01", "ST01"),
}

PROJECT = "miserly"


class Public(NamedTuple):
    """A public object: where it is defined, its name there, and the object."""

    module: str
    name: str
    thing: Any
    owner: type | None = None
    top_level: bool = False

    @property
    def room(self) -> str:
        """The package of the module, without the name of the project; ``.`` for its own modules."""
        is_package = hasattr(sys.modules[self.module], "__path__")
        return room_named(self.module.split(".")[1 : None if is_package else -1])


class Problem(NamedTuple):
    """What numpydoc has to say about one docstring."""

    where: Public
    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.where.module}.{self.where.name}: {self.code} {self.text}"


def exported() -> Iterator[tuple[str, Any]]:
    """Names and objects in the ``__all__`` of every package of the project."""
    import miserly

    packages = ["miserly", *(info.name for info in walk_packages(miserly.__path__, "miserly.") if info.ispkg)]
    for package in packages:
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            yield package, getattr(module, name)


def public_objects() -> list[Public]:
    """Public classes and functions and the public methods of those classes, each once, by name."""
    found: dict[str, Public] = {}
    for package, thing in exported():
        if not (inspect.isclass(thing) or inspect.isfunction(thing)) or not _own(thing):
            continue
        key = f"{thing.__module__}.{thing.__qualname__}"
        if key not in found or package == "miserly":
            found[key] = Public(thing.__module__, thing.__qualname__, thing, top_level=package == "miserly")
        if inspect.isclass(thing):
            for method in _methods(thing):
                found.setdefault(f"{method.module}.{method.name}", method)
    return [found[key] for key in sorted(found)]


def _own(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).split(".")[0] == PROJECT


def _methods(cls: type) -> Iterator[Public]:
    """Public methods and properties that the class or one of its bases in the project defines."""
    for base in filter(_own, cls.__mro__):
        for name, member in vars(base).items():
            if not name.startswith("_") and (function := _function_of(member)) is not None:
                yield Public(base.__module__, f"{base.__qualname__}.{name}", function, owner=base)


def _function_of(member: Any) -> Any:
    """The function or property behind an attribute of a class, or None where it is a plain value."""
    if isinstance(member, property) or inspect.isfunction(member):
        return member
    for inside in ("__func__", "func", "fn"):  # class and static methods; cached properties; available_if
        if inspect.isfunction(function := getattr(member, inside, None)):
            return function
    return None


def problems_of(public: Public) -> list[Problem]:
    """Problems of one docstring, as numpydoc names them."""
    if _inherits_docstring(public):
        return []
    found = _validate(public) + _lost_sections(public.thing)
    if inspect.isclass(public.thing):
        found += _undocumented_attributes(public.thing)
    optional = _optional(public)
    return [Problem(public, code, text) for code, text in found if code in CHECKS - optional]


def _validate(public: Public) -> list[tuple[str, str]]:
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import Validator, validate

    class Documented(Validator):
        """Fields of a dataclass may be documented as attributes; builtin constructors have no parameters."""

        def __init__(self, obj_name: Any) -> None:
            super().__init__(get_doc_object(obj_name, config={"show_class_members": False}))

        @property
        def doc_all_parameters(self) -> Any:
            sections = ["Parameters", "Other Parameters"]
            if dataclasses.is_dataclass(self.obj) and not self.doc["Parameters"]:
                sections = ["Attributes"]
            return self._doc_parameters(sections)

        @property
        def signature_parameters(self) -> Any:
            if inspect.isclass(self.obj) and not _has_own_constructor(self.obj):
                return ()
            return super().signature_parameters

    return validate(public.thing, validator_cls=Documented)["errors"]


def _has_own_constructor(cls: type) -> bool:
    return any("__init__" in vars(base) or "__new__" in vars(base) for base in filter(_own, cls.__mro__))


def _is_estimator(cls: Any) -> bool:
    return inspect.isclass(cls) and callable(getattr(cls, "fit", None))


def _optional(public: Public) -> set[str]:
    """Checks that do not apply to an object."""
    thing = public.thing
    if _is_estimator(thing):
        return set()
    plain = inspect.isclass(thing) and not dataclasses.is_dataclass(thing) and not inspect.isabstract(thing)
    if plain and not issubclass(thing, Exception):
        return {"ES01"}
    return {"ES01"} if public.top_level and inspect.isfunction(thing) else {"ES01", "EX01"}


def _inherits_docstring(public: Public) -> bool:
    """Whether a method leaves its description to a method with the same parameters in a base class."""
    if public.owner is None or public.thing.__doc__:
        return False
    name = public.name.rsplit(".", 1)[-1]
    for base in public.owner.__mro__[1:]:
        inherited = _function_of(vars(base).get(name))
        if inherited is not None and inherited.__doc__:
            return isinstance(inherited, property) or _parameters(inherited) == _parameters(public.thing)
    return False


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _undocumented_attributes(cls: type) -> list[tuple[str, str]]:
    """Attributes with a trailing underscore that an estimator sets and does not document."""
    if not _is_estimator(cls):
        return []
    documented = inspect.getdoc(cls) or ""
    section = documented.partition("Attributes\n---")[2]
    set_by_fit: set[str] = set()
    for base in filter(_own, cls.__mro__):
        set_by_fit.update(re.findall(r"\bself\.([a-z]\w*_)\b\s*(?::[^=\n]+)?=(?!=)", inspect.getsource(base)))
    missing = sorted(name for name in set_by_fit if not re.search(rf"\b{name}\b", section))
    return [("AT01", f"Attributes {', '.join(missing)} not documented")] if missing else []


def _lost_sections(thing: Any) -> list[tuple[str, str]]:
    """Sections whose title and underline are on one line: numpydoc reads them as plain text."""
    titles = re.findall(r"^ *([A-Z][a-z]+) -{3,}", thing.__doc__ or "", flags=re.MULTILINE)
    return [("ST01", f"Section {title} has its underline on the line of its title") for title in titles]


def findings() -> list[Finding]:
    """Problems of all public docstrings."""
    return [Finding(one.room, str(problem)) for one in public_objects() for problem in problems_of(one)]


if __name__ == "__main__":
    sys.exit(report(findings(), UNFINISHED, sys.argv[1:]))
