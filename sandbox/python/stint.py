"""libstint for Python: commands and Python code confined by Landlock and seccomp. No root, no daemon, nothing to build.

    import stint

    with stint.Sandbox("python-stdlib-read-only", read=["data"]) as box:
        done = box.run_python("print(sum(range(10)))", timeout=5)
        print(done.status, done.stdout, done.violation)

docs/embedding.md has more. What a word means is in stint-guard(1) and stint-profile(5). A Sandbox may be used by several threads at
the same time: the interpreter is free while a command runs."""
import ctypes
import errno
import os
import signal
import sys

__all__ = ["Error", "Profile", "Result", "Sandbox", "Violation", "abi", "load_profile", "version"]

CODE_MAX = 100 * 1024  # the kernel takes 128 KiB in one word of a command
GRANTS = {"list": 0, "read": 1, "optional_read": 2, "write": 3, "exec": 4, "unix": 5}
PORTS = {"connect": 0, "bind": 1}
OPTIONS = {"no_system": 0, "no_scope": 1, "net_unrestricted": 2, "no_exec": 3, "best_effort": 4, "env_all": 5, "no_tmp": 6}
KINDS = ("system call", "path", "port")
THIS_THREAD = 1


class Error(Exception):
    """The library's sentence; `code` is an errno."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


# ---- the library, as sandbox/stint.h declares it

class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 1024)]


class _Command(ctypes.Structure):
    _fields_ = [("argv", ctypes.POINTER(ctypes.c_char_p)), ("input", ctypes.c_char_p), ("input_length", ctypes.c_size_t),
                ("folder", ctypes.c_char_p), ("timeout_ms", ctypes.c_uint64), ("output_max", ctypes.c_size_t),
                ("supervised", ctypes.c_int)]


class _Violation(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("number", ctypes.c_int), ("pid", ctypes.c_int), ("name", ctypes.c_char * 64),
                ("message", ctypes.c_char * 256)]


class _Output(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("length", ctypes.c_size_t), ("total", ctypes.c_uint64)]


class _Result(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("signal", ctypes.c_int), ("timed_out", ctypes.c_int), ("left", ctypes.c_uint),
                ("out", _Output), ("err", _Output), ("wall_ms", ctypes.c_uint64), ("user_us", ctypes.c_uint64),
                ("system_us", ctypes.c_uint64), ("peak_kib", ctypes.c_uint64), ("violations", ctypes.POINTER(_Violation)),
                ("n_violations", ctypes.c_size_t)]


_ERROR = ctypes.POINTER(_Error)
_OBJECT = ctypes.c_void_p
_PROTOTYPES = {
    "stint_version": (ctypes.c_char_p, []),
    "stint_abi": (ctypes.c_int, []),
    "stint_profile_load": (ctypes.c_int, [ctypes.POINTER(_OBJECT), ctypes.c_char_p, ctypes.c_char_p, _ERROR]),
    "stint_profile_free": (None, [_OBJECT]),
    "stint_policy_new": (ctypes.c_int, [ctypes.POINTER(_OBJECT), _ERROR]),
    "stint_policy_free": (None, [_OBJECT]),
    "stint_policy_profile": (None, [_OBJECT, _OBJECT]),
    "stint_policy_allow": (ctypes.c_int, [_OBJECT, ctypes.c_int, ctypes.c_char_p, _ERROR]),
    "stint_policy_port": (ctypes.c_int, [_OBJECT, ctypes.c_int, ctypes.c_uint, _ERROR]),
    "stint_policy_option": (ctypes.c_int, [_OBJECT, ctypes.c_int, _ERROR]),
    "stint_policy_env": (ctypes.c_int, [_OBJECT, ctypes.c_char_p, _ERROR]),
    "stint_policy_min_abi": (ctypes.c_int, [_OBJECT, ctypes.c_int, _ERROR]),
    "stint_policy_programs": (ctypes.c_int, [_OBJECT, ctypes.c_char_p, _ERROR]),
    "stint_run": (ctypes.c_int, [_OBJECT, ctypes.POINTER(_Command), ctypes.POINTER(_Result), _ERROR]),
    "stint_result_done": (None, [ctypes.POINTER(_Result)]),
    "stint_confine": (ctypes.c_int, [_OBJECT, ctypes.c_uint, _ERROR]),
}


def _load():
    """As installed or built, seen from this file; else wherever the loader finds it."""
    here = os.path.dirname(os.path.realpath(__file__))
    names = [os.path.join(here, *where, "libstint.so.0") for where in (("..", "..", "..", "lib"), ("..", "..", "build", "lib"))]
    name = next((n for n in names if os.path.exists(n)), "libstint.so.0")
    library = ctypes.CDLL(os.path.realpath(name) if os.sep in name else name)
    for function, (result, arguments) in _PROTOTYPES.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


_lib = _load()


def _call(function, *arguments):
    error = _Error()
    if getattr(_lib, function)(*arguments, ctypes.byref(error)) != 0:
        raise Error(error.code, error.message.decode(errors="replace"))


def version():
    return _lib.stint_version().decode()


def abi():
    """The Landlock ABI of this kernel; 0 when it has none."""
    return max(0, _lib.stint_abi())


# ---- objects

class Profile:
    """See load_profile()."""

    def __init__(self, word, programs=None):
        self.name = os.fspath(word)
        self._pointer = _OBJECT()
        _call("stint_profile_load", ctypes.byref(self._pointer), os.fsencode(word), _bytes_or_none(programs))

    def __del__(self):
        if getattr(self, "_pointer", None):
            _lib.stint_profile_free(self._pointer)


def load_profile(word, programs=None):
    """A built-in profile's name, or a file (told by a slash or a dot): YAML, or compiled. For any number of sandboxes."""
    return Profile(word, programs)


class Violation:
    def __init__(self, v):
        self.kind, self.number, self.pid = KINDS[v.kind], v.number, v.pid
        self.name, self.message = v.name.decode(errors="replace"), v.message.decode(errors="replace")

    def __str__(self):
        return self.message


class Result:
    """What became of a command. stdout and stderr are text, stdout_bytes and stderr_bytes what it is made of: head and tail of more
    than output_max; stdout_total and stderr_total count what was written. violation is the first of violations, or None."""

    def __init__(self, r):
        self.status, self.signal, self.timed_out, self.left = r.status, r.signal, bool(r.timed_out), r.left
        self.stdout_bytes, self.stderr_bytes = (ctypes.string_at(o.bytes, o.length) for o in (r.out, r.err))
        self.stdout_total, self.stderr_total = r.out.total, r.err.total
        self.wall, self.user, self.system, self.peak_kib = r.wall_ms / 1e3, r.user_us / 1e6, r.system_us / 1e6, r.peak_kib
        self.violations = [Violation(r.violations[i]) for i in range(r.n_violations)]

    @property
    def stdout(self):
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self):
        return self.stderr_bytes.decode(errors="replace")

    @property
    def violation(self):
        return self.violations[0] if self.violations else None

    def __repr__(self):
        how = "timed out" if self.timed_out else signal.Signals(self.signal).name if self.signal else f"status {self.status}"
        return f"<stint.Result: {how}, {self.stdout_total} bytes of stdout, {self.stderr_total} of stderr>"


class Sandbox:
    """The policy, while the `with` block lasts. profile: a name, file or Profile. read, optional_read, write, list, exec, unix: paths;
    connect, bind: TCP ports; env: a dict, or NAME=VALUE and NAME words; options that are true or false: no_system, no_scope,
    net_unrestricted, no_exec, best_effort, env_all, no_tmp. python: this interpreter's own folders can be read and run, too."""

    def __init__(self, profile="agent", *, connect=(), bind=(), env=(), min_abi=None, programs=None, python=True, **more):
        self._policy = None
        self._paths = {name: [more.pop(name)] if isinstance(more.get(name), (str, os.PathLike)) else list(more.pop(name, ()))
                       for name in GRANTS}
        self._options = [name for name in OPTIONS if more.pop(name, False)]
        if more:
            raise TypeError(f"Sandbox() has no argument {', '.join(sorted(more))}")
        if python:
            self._paths["exec"] += _interpreter()
        self._env = [f"{name}={value}" for name, value in env.items()] if isinstance(env, dict) else list(env)
        self._ports = {"connect": list(connect), "bind": list(bind)}
        self._min_abi, self._programs = min_abi, programs
        self._profile = profile if isinstance(profile, Profile) else load_profile(profile, programs)

    def __enter__(self):
        pointer = _OBJECT()
        _call("stint_policy_new", ctypes.byref(pointer))
        try:
            self._fill(pointer)
        except BaseException:
            _lib.stint_policy_free(pointer)
            raise
        self._policy = pointer
        return self

    def __exit__(self, *_):
        pointer, self._policy = self._policy, None
        _lib.stint_policy_free(pointer)

    def _fill(self, policy):
        _lib.stint_policy_profile(policy, self._profile._pointer)
        for name, paths in self._paths.items():
            for path in paths:
                _call("stint_policy_allow", policy, GRANTS[name], os.fsencode(path))
        for name, ports in self._ports.items():
            for port in ports:
                _call("stint_policy_port", policy, PORTS[name], port)
        for word in self._env:
            _call("stint_policy_env", policy, os.fsencode(word))
        for name in self._options:
            _call("stint_policy_option", policy, OPTIONS[name])
        if self._min_abi is not None:
            _call("stint_policy_min_abi", policy, self._min_abi)
        _call("stint_policy_programs", policy, _bytes_or_none(self._programs))

    def _entered(self):
        if self._policy is None:
            raise Error(errno.EINVAL, "the sandbox is used outside its `with` block")
        return self._policy

    def run(self, argv, *, input=b"", timeout=None, folder=None, output_max=0, supervised=False):
        """Runs a command (a list of words, no shell) to its end or for timeout seconds; returns a Result. Raises Error when it was
        not started."""
        words = [os.fsencode(w) for w in argv]
        if any(b"\0" in w for w in words):
            raise ValueError("a word of a command cannot hold a NUL")
        stdin = input.encode() if isinstance(input, str) else bytes(input)
        command = _Command(argv=(ctypes.c_char_p * (len(words) + 1))(*words, None), input=stdin, input_length=len(stdin),
                           folder=_bytes_or_none(folder), timeout_ms=0 if timeout is None else max(1, round(timeout * 1000)),
                           output_max=output_max, supervised=supervised)
        result = _Result()
        _call("stint_run", self._entered(), ctypes.byref(command), ctypes.byref(result))
        try:
            return Result(result)
        finally:
            _lib.stint_result_done(ctypes.byref(result))

    def run_python(self, code, **how):
        """Runs Python code in an interpreter of its own like this one, isolated (-I); see run() for the rest."""
        if len(os.fsencode(code)) > CODE_MAX:
            raise ValueError(f"more than {CODE_MAX} bytes of code: write them into a file, grant it and run that")
        return self.run([sys.executable, "-I", "-c", code], **how)

    def confine(self, this_thread=False):
        """Confines this process for ever (this_thread: the calling thread alone, see stint.h). After an Error it may be confined in
        part."""
        _call("stint_confine", self._entered(), THIS_THREAD if this_thread else 0)


def _bytes_or_none(path):
    return None if path is None else os.fsencode(path)


def _interpreter():
    """Where this interpreter lies, as far as that is no folder that everything may read anyway."""
    paths = {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, sys.executable) if p}
    return sorted(p for p in paths if p != "/" and not (p + "/").startswith(("/usr/", "/bin/", "/opt/", "/lib/")))
