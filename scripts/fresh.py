#!/usr/bin/env python3
"""Does what a new user does, in Debian roots that hold nothing of this machine but its package
configuration: where packages come from, and which certificates are trusted.

  fresh.py             all steps, in this order, and one line with the verdict
  fresh.py STEP ...    some of them

Needs root and mmdebstrap. The root lies in a temporary folder (BRAID_TMP, about 12 GB) and is removed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = "/srv/braid"
SUITE = "bookworm"
# What the README takes for granted, and nothing else.
MINIMAL = "make,git,ca-certificates"

# In a mount namespace of its own, so that nothing stays mounted. $1 the root, $2 the command.
ENTER = r"""
set -eu
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o size=60% tmpfs "$1/dev/shm"
mount -t tmpfs tmpfs "$1/run"
exec chroot "$1" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb CI="${CI:-}" \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  bash -o pipefail -c "$2" </dev/null
"""


class Broken(Exception):
    """A step failed; the text says how."""


def say(text):
    print(text, flush=True)


def enter(root, command, log=None):
    """Runs a command in a root. Its output goes to the log, or is returned."""
    arguments = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
                 "bash", "-c", ENTER, "enter", str(root), command]
    if log is None:
        done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        if done.returncode != 0:
            raise Broken(f"'{command}' ended with exit code {done.returncode}:\n{done.stdout}")
        return done.stdout
    with open(log, "wb") as out:
        code = subprocess.run(arguments, stdout=out, stderr=subprocess.STDOUT,
                              check=False).returncode
    text = pathlib.Path(log).read_text(errors="replace")
    if code != 0:
        raise Broken(f"'{command}' ended with exit code {code}:\n" +
                     "\n".join(text.splitlines()[-60:]))
    return text


def certificates(bundle):
    """The certificates of a bundle, as texts."""
    if not bundle.exists():
        return []
    return re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----",
                      bundle.read_text(errors="replace"), re.DOTALL)


def configure_packages(root):
    """Gives a root this machine's package configuration."""
    for name in ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/apt/auth.conf",
                 "root/.m2/settings.xml", "root/.config/pip/pip.conf"):
        if pathlib.Path("/", name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(pathlib.Path("/", name), root / name)
    for name in ("etc/apt/auth.conf.d", "etc/apt/keyrings"):
        if pathlib.Path("/", name).is_dir():
            shutil.copytree(pathlib.Path("/", name), root / name, dirs_exist_ok=True)
    # Certificates that this machine trusts and Debian does not know, as of a registry's mirror.
    known = set(certificates(root / "etc/ssl/certs/ca-certificates.crt"))
    own = root / "usr/local/share/ca-certificates"
    for number, text in enumerate(certificates(
            pathlib.Path("/etc/ssl/certs/ca-certificates.crt"))):
        if text not in known:
            (own / f"of-the-host-{number}.crt").write_text(text + "\n")
    enter(root, "update-ca-certificates")


def make_root(path, packages):
    """A minimal Debian with some packages, from where this machine takes its own."""
    sources = [str(file) for pattern in ("*.sources", "*.list")
               for file in sorted(pathlib.Path("/etc/apt/sources.list.d").glob(pattern))
               if "debian" in file.read_text(errors="replace")]
    if pathlib.Path("/etc/apt/sources.list").is_file():
        sources.append("/etc/apt/sources.list")
    options = [f"--aptopt={line.strip()}"
               for file in sorted(pathlib.Path("/etc/apt/apt.conf.d").glob("*"))
               for line in file.read_text(errors="replace").splitlines()
               if re.match(r"\s*(Acquire::(Check|http|https)[\w:-]* )", line)]
    done = subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", f"--include={packages}",
                           "--dpkgopt=force-unsafe-io",
                           *options, SUITE, str(path), *sources], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Broken(f"mmdebstrap could not make a root; is Debian's package registry within reach?\n"
                     f"{done.stdout[-2000:]}")
    configure_packages(path)


def first_block(path, language):
    """The first code block of a page in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    if not found:
        raise Broken(f"{path.name} has no example in {language}")
    return found.group(1)


class Fresh:
    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "root"
        self.log = folder / "log"

    def prepare(self):
        make_root(self.root, MINIMAL)
        # A clone of what is committed: what lies about in a work tree would hide what is missing.
        subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT),
                        str(self.root) + SOURCE], check=True)

    def make(self, target):
        return enter(self.root, f"cd {SOURCE} && make {target}", self.log)

    def demo(self):
        text = self.make("demo")
        if "all results were as they should be" not in text:
            raise Broken("make demo ended without its verdict:\n" + text[-2000:])
        return re.search(r"Done in \d+ s", text).group(0)

    def test(self):
        text = self.make("test")
        verdict = text.rstrip().splitlines()[-1]
        if not re.fullmatch(r"\d+ passed, 0 failed", verdict):
            raise Broken("make test ended otherwise than it should:\n" + text[-4000:])
        say("\n".join("    " + line for line in text.splitlines()[-40:]))
        return verdict

    def python(self):
        self.make("python")
        page = self.root / SOURCE[1:] / "bindings/python/README.md"
        example = first_block(page, "python") if "with braiddb" in first_block(page, "python") \
            else re.search(r"^## Example\s+```python\n(.*?)^```", page.read_text(),
                           re.DOTALL | re.MULTILINE).group(1)
        (self.root / "root/example.py").write_text(example)
        said = enter(self.root, f"""cd /root && rm -rf inventory venv && python3 -m venv venv &&
            venv/bin/pip install --quiet {SOURCE}/build/python/wheel/braiddb-*.whl &&
            venv/bin/python example.py""").strip().splitlines()
        wanted = [line.strip() for line in re.findall(r"print\(.*?# (.*)", example)]
        if said[-len(wanted):] != wanted:
            raise Broken(f"the page's example printed {said}, not {wanted}")
        return "the page's first example prints what it says"

    def java(self):
        self.make("java")
        example = first_block(self.root / SOURCE[1:] / "bindings/java/README.md", "java")
        imports = re.findall(r"^import .*;$", example, re.MULTILINE)
        body = "\n".join(line for line in example.splitlines() if not line.startswith("import "))
        body = body.replace("/mnt/pmem/pool", "java.pool")
        (self.root / "root/Example.java").write_text(
            "import java.io.File;\n" + "\n".join(imports) +
            "\npublic class Example { public static void main(String[] a) throws Exception {\n" +
            body + '\nSystem.out.println("done"); } }\n')
        said = enter(self.root, f"""cd /root && rm -rf java.pool &&
            jars=$(find .m2 -name 'leveldb-api-*.jar' | head -n 1):$(
              ls {SOURCE}/bindings/java/core/target/braid-[0-9]*.jar |
                grep -v -e sources -e javadoc -e tests | head -n 1) &&
            java -cp "$jars" Example.java && {SOURCE}/build/release/bin/braid get java.pool key""")
        if said.split()[-2:] != ["done", "value"]:
            raise Broken(f"the page's example: {said}")
        return "the page's first example stores its record"

    def package(self):
        self.make("package")
        packages = list((self.root / SOURCE[1:] / "build/package/packages").glob("*.deb"))
        if len(packages) < 3:
            raise Broken(f"make package made {len(packages)} packages")
        return ", ".join(sorted(package.name.split("_")[0] for package in packages))

    def install(self):
        """The packages in another bare root, and the README's program against them."""
        packages = sorted((self.root / SOURCE[1:] / "build/package/packages").glob("*.deb"))
        if not packages:
            raise Broken("there are no packages: run the step 'package' before")
        second = self.folder / "second"
        make_root(second, "ca-certificates,g++,pkg-config")
        for package in packages:
            shutil.copy(package, second / "root")
        readme = ROOT / "README.md"
        (second / "root/cities.cc").write_text(first_block(readme, "cpp"))
        said = enter(second, """cd /root && apt-get update -qq &&
            apt-get install -y -qq --no-install-recommends ./*.deb >/dev/null 2>&1 &&
            g++ -std=c++20 cities.cc -o cities $(pkg-config --cflags --libs braid) && ./cities &&
            braid get cities.pool Oslo && braid verify cities.pool""")
        wanted = first_block(readme, "text").strip()
        if wanted not in said:
            raise Broken(f"the README's program printed: {said}")
        return "the README's program runs against the packages"

    def hadoop(self):
        self.make("hadoop-demo SIZE=quick")
        return "jobs on a real cluster"


STEPS = {"demo": Fresh.demo, "test": Fresh.test, "python": Fresh.python, "java": Fresh.java,
         "package": Fresh.package, "install": Fresh.install, "hadoop-demo": Fresh.hadoop}


def main(arguments):
    if {"-h", "--help"} & set(arguments):
        print(__doc__, "\nSteps:", ", ".join(STEPS))
        return 0
    unknown = [step for step in arguments if step not in STEPS]
    if unknown:
        sys.exit(f"fresh.py: unknown step '{unknown[0]}': use {', '.join(STEPS)}")
    if os.geteuid() != 0:
        sys.exit("fresh.py: needs root, to make a Debian root and enter it")
    if not shutil.which("mmdebstrap"):
        sys.exit("fresh.py: needs mmdebstrap: apt-get install mmdebstrap")
    changed = subprocess.run(["git", "-C", ROOT, "status", "--porcelain"], text=True,
                             stdout=subprocess.PIPE, check=True).stdout
    if changed:
        say("fresh: what is not committed is left out: " + ", ".join(changed.split()[1::2][:6]))

    begin, failed = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="braid-fresh-", dir=os.environ.get("BRAID_TMP") or None,
                                     ignore_cleanup_errors=True) as folder:
        fresh = Fresh(pathlib.Path(folder))
        steps = {"a bare root": Fresh.prepare}
        steps.update({name: STEPS[name] for name in (arguments or STEPS)})
        for name, step in steps.items():
            since = time.monotonic()
            try:
                said = step(fresh) or "made"
            except (Broken, subprocess.SubprocessError, OSError) as error:
                failed.append(name)
                said = f"FAILED: {error}"
            say(f"fresh: {name:<12} {time.monotonic() - since:5.0f} s  {said}")
            if name == "a bare root" and failed:
                break
    minutes = (time.monotonic() - begin) / 60
    if failed:
        say(f"fresh: failed: {', '.join(failed)}, in {minutes:.0f} min")
        return 1
    say(f"fresh: all {len(steps) - 1} steps passed in {minutes:.0f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
