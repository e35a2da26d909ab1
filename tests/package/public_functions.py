"""What the public C++ headers declare and leave to the library: the functions that a program links."""

import re


def without_noise(text):
    """The text without comments, preprocessor lines, literals and the arguments of templates."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"(?m)^\s*#([^\n]*\\\n)*[^\n]*", "", text)
    text = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', text)
    text = re.sub(r"=\s*\{\s*\}", "= x", text)  # an argument's or a member's default
    before = None
    while before != text:
        # Not operators, and not `template <class T>`, which says what the rest is.
        before, text = text, re.sub(r"(?<=[\w:])<[^<>;{}]*>", "", text)
    return text


class Scope:
    """A pair of braces: a namespace, a class, or anything whose inside is of no concern."""

    def __init__(self, kind, name="", public=True):
        self.kind = kind
        self.name = name
        self.public = public


def opened_by(head):
    head = head.strip()
    found = re.search(r"\bnamespace\s+([\w:]+)$", head)
    if found:
        return Scope("namespace", found.group(1))
    found = re.search(r"\b(class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?$", head,
                      flags=re.S)
    if found and "template" not in head and "enum" not in head:
        return Scope("class", found.group(2), found.group(1) == "struct")
    return Scope("other")


def declared_name(statement):
    """The name of the function that `statement` declares for another file to define, or None."""
    statement = re.sub(r"\[\[\w+\]\]", " ", statement).strip()
    if re.search(r"^\s*(using|typedef|friend|static_assert|template|inline)\b|\bconstexpr\b",
                 statement):
        return None
    if "(" not in statement or re.search(r"=\s*(0|default|delete)$", statement):
        return None
    found = re.search(r"(~?\w+|operator\s*[^\s\w(]+)\s*\(", statement)
    return found.group(1) if found else None


def out_of_line_functions(text):
    """Qualified names of the public functions that the header `text` declares and does not define:
    one for each overload, members of classes included."""
    found = []
    scopes = []
    statement = ""
    for part in re.split(r"([{};]|\b(?:public|private|protected):)", without_noise(text)):
        inside = scopes[-1] if scopes else Scope("namespace")
        if part == "{":
            scopes.append(opened_by(statement) if inside.kind != "other" else Scope("other"))
            statement = ""
        elif part == "}":
            scopes.pop()
            statement = ""
        elif part == ";":
            name = declared_name(statement)
            if name and inside.kind != "other" and inside.public:
                found.append("::".join([scope.name for scope in scopes] + [name]))
            statement = ""
        elif part.endswith(":") and part[:-1] in ("public", "private", "protected"):
            inside.public = part != "private:"
            statement = ""
        else:
            statement += part
    return found
