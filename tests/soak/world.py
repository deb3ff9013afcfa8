# SPDX-License-Identifier: GPL-2.0-only
"""world.py - the soak's surroundings: two joined namespaces without an uplink, listeners, a capture that is read as it is written, a name server, a root

Everything that is made here is removed on leaving, whatever happened; `left` says before that what netcordon itself left behind.
"""
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time

LISTED, UNLISTED, OTHER, NAMED_ADDRESS = "93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37"
NAMED = "api.example"
NEAR, FAR = "100.64.7.2", "100.64.7.1"
LARGE = 100000  # of 262,144 places: two fit, three do not


def command(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=300, **options).stdout


def cgroup_mount():
    for line in open("/proc/self/mountinfo"):
        if " - cgroup2 " in line:
            return line.split()[4]
    raise SystemExit("soak: no cgroup2 hierarchy is mounted")


def kernel_objects():
    """How many programs, maps and links of BPF the kernel has."""
    return {kind: len(json.loads(command("bpftool", "-j", kind, "show"))) for kind in ("prog", "map", "link")}


class World:
    def __init__(self, build):
        self.build, self.netcordon = build, f"{build}/netcordon"
        # what is preloaded reaches no static program: the same one, linked against the C library that this machine has
        self.preloadable = f"{build}/netcordon-dynamic" if os.path.exists(f"{build}/netcordon-dynamic") else self.netcordon
        self.folder = tempfile.mkdtemp(prefix="nctest-soak-")
        name = os.path.basename(self.folder)
        self.near, self.far = f"nc-soak-near-{os.getpid()}", f"nc-soak-far-{os.getpid()}"
        self.root = f"{cgroup_mount()}/{name}"
        self.lock, self.number, self.packets, self.passed = threading.Lock(), 0, 0, []
        self.children = []

    # ---- up and down

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def up(self):
        self.before = kernel_objects()
        os.mkdir(self.root)
        for space in (self.near, self.far):
            command("ip", "netns", "add", space)
            command("nsenter", f"--net=/run/netns/{space}", "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
            command("ip", "-n", space, "link", "set", "lo", "up")
        command("ip", "-n", self.near, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", self.far)
        for space, device, address in ((self.near, "near", NEAR), (self.far, "far", FAR)):
            command("ip", "-n", space, "addr", "add", f"{address}/24", "dev", device)
            command("ip", "-n", space, "link", "set", device, "up")
        for address in (LISTED, UNLISTED, OTHER, NAMED_ADDRESS):
            command("ip", "-n", self.far, "addr", "add", f"{address}/32", "dev", "lo")
        command("ip", "-n", self.near, "route", "add", "default", "via", FAR)
        # Whatever leaves for an address that nobody has must be seen, not swallowed by a missing route.
        command("ip", "-n", self.far, "route", "add", "blackhole", "default")
        self.watch()
        self.profile("literal", [{"host": LISTED, "port": 443}])
        self.profile("both", [{"host": LISTED, "port": 443}, {"host": OTHER, "port": 443}])
        self.profile("named", [{"host": NAMED, "port": 443, "wire": "any"}])
        self.profile("large", [{"host": LISTED, "port": 443}] + [{"host": f"93.{i >> 16}.{i >> 8 & 255}.{i & 255}", "port": 80} for i in range(LARGE)])
        with open(f"{self.folder}/netcordon.conf", "w") as file:
            json.dump({"version": 1, "upstreams": ["127.0.0.1"]}, file)
        command(self.netcordon, "key", "generate", f"{self.folder}/key.pem")
        with open(f"{self.folder}/public.pem", "w") as file:
            file.write(command(self.netcordon, "key", "public", f"{self.folder}/key.pem"))
        command(self.netcordon, "host", "up", "--root", self.root)

    def __exit__(self, *_):
        subprocess.run([self.netcordon, "host", "down", "--force", "--root", self.root], capture_output=True, timeout=120)
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait(timeout=60)
        for space in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", space], capture_output=True, timeout=60)
        if os.path.isdir(self.root):
            os.rmdir(self.root)
        subprocess.run(["rm", "-rf", self.folder], timeout=60)

    def profile(self, name, destinations):
        with open(f"{self.folder}/{name}.json", "w") as file:
            json.dump({"version": 1, "network": {"mode": "allowlist", "destinations": destinations}}, file)

    # ---- the wire

    def watch(self):
        """The witness writes into a pipe; a thread reads it, so that no log grows. It watches the far end of the cable."""
        pipe = f"{self.folder}/witness"
        os.mkfifo(pipe)
        listeners = [word for address in (LISTED, UNLISTED, OTHER, NAMED_ADDRESS) for word in ("tcp", address, "443")]
        self.children.append(subprocess.Popen(["nsenter", f"--net=/run/netns/{self.far}", f"{self.build}/tests/native/witness", pipe, *listeners,
                                               "capture", "far"], stdout=subprocess.DEVNULL))
        ready = threading.Event()
        threading.Thread(target=self.read_witness, args=(pipe, ready), daemon=True).start()
        if not ready.wait(30):
            raise SystemExit("soak: the witness does not come up")

    def read_witness(self, pipe, ready):
        permitted = {LISTED, OTHER, NAMED_ADDRESS}
        for line in open(pipe):
            event = json.loads(line)
            if event["event"] == "ready":
                ready.set()
            if event.get("way") != "in" or not event.get("dst"):
                continue
            with self.lock:
                self.packets += 1
                if event["dst"] not in permitted or event.get("dport") != 443:
                    self.passed.append(line.strip())

    def foreign_packets(self):
        with self.lock:
            return list(self.passed)

    def name_server(self):
        server = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.near}", "dnsmasq", "-k", "-C", "/dev/null", "--port=53", "--listen-address=127.0.0.1", "--bind-interfaces", "--no-resolv", "--no-hosts",
                                   "--user=root", "--pid-file=", f"--address=/{NAMED}/{NAMED_ADDRESS}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.children.append(server)
        return server

    # ---- netcordon

    def folder_of(self, kind):
        with self.lock:
            self.number += 1
            return f"{self.folder}/{kind}-{self.number}"

    def start(self, profile, folder, words, instance=None, environment=None):
        """`run` in the near namespace, where the name server is too."""
        options = ["--instance", instance] if instance else []
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{self.near}", self.preloadable if environment else self.netcordon, "run", "--config", f"{self.folder}/netcordon.conf", "--root", self.root,
                                 "--profile", f"{self.folder}/{profile}.json", "--evidence", folder, "--key", f"{self.folder}/key.pem", *options, "--", *words],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})

    def run(self, profile, folder, words):
        child = self.start(profile, folder, words)
        output, errors = child.communicate(timeout=240)
        return subprocess.CompletedProcess(words, child.returncode, output, errors)

    def update(self, instance, profile):
        return subprocess.run([self.netcordon, "update", "--root", self.root, instance, "--profile", f"{self.folder}/{profile}.json"], capture_output=True, text=True,
                              timeout=120)

    def verify(self, folder):
        return subprocess.run([self.netcordon, "evidence", "verify", folder, "--public-key", f"{self.folder}/public.pem"], capture_output=True, timeout=120).returncode

    def status(self):
        return json.loads(command(self.netcordon, "host", "status", "--root", self.root, "--json"))

    @contextlib.contextmanager
    def small_disk(self, kibibytes):
        disk = self.folder_of("disk")
        os.mkdir(disk)
        command("mount", "-t", "tmpfs", "-o", f"size={kibibytes}k,mode=700", "tmpfs", disk)
        try:
            yield disk
        finally:
            command("umount", disk)
            os.rmdir(disk)

    # ---- what is left

    def left(self):
        """Everything that an ended instance should have taken with it. The kernel frees maps and programs in its own time: it gets ten seconds."""
        self.status()
        facts = self.status()
        left = {f"{kind}": facts["instances"]["used"] if kind == "instances" else facts["rings"]["used"] for kind in ("instances", "rings")}
        left.update({f"entries of {name}": number for name, number in facts["entries"].items()})
        slice_of = [entry.path for entry in os.scandir(self.root) if entry.is_dir()]
        left["cgroups"] = sum(len(folders) for path in slice_of for _, folders, _ in os.walk(path))
        runtime = f"/run/netcordon/{os.path.basename(facts['pins'])}/instances"
        left["records"] = len(os.listdir(runtime)) if os.path.isdir(runtime) else 0
        left["processes"] = self.processes()  # what was killed a moment ago may still be on its way out
        for _ in range(100):
            if not left["processes"]:
                break
            time.sleep(0.1)
            left["processes"] = self.processes()
        command(self.netcordon, "host", "down", "--root", self.root)
        left["pins"] = int(os.path.exists(facts["pins"]))
        for _ in range(100):
            after = kernel_objects()
            if all(after[kind] <= self.before[kind] for kind in after):
                break
            time.sleep(0.1)
        left.update({f"kernel {kind}s": max(0, after[kind] - self.before[kind]) for kind in after})
        left["cgroups of the root"] = sum(entry.is_dir() for entry in os.scandir(self.root))
        return left

    def processes(self):
        """Processes that run our programs for this root, or a workload of it."""
        count = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = open(f"/proc/{pid}/cmdline", "rb").read()
                where = open(f"/proc/{pid}/cgroup").read()
                count += self.root.encode() in words or os.path.basename(self.root) in where
        return count
