# SPDX-License-Identifier: GPL-2.0-only
"""sides - the same worker behind nothing, behind empty programs, behind the cordon, behind nftables, behind empty programs of which one looks something up, each in
a namespace and a cgroup of its own

Every side's namespace has two cables to one "internet", where call_cost serves on ports 80 and 443: over the first the kernel may send large packets and cut
them late (GSO), over the second not. Nothing has an uplink. All sides list or allow the same number of destinations. A worker is asked by a line and
answers with one (call_cost.c), so that all sides live at the same time and are asked in turn.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SIDES = ("nothing", "empty", "netcordon", "nftables")
LOOKUP = "lookup"
ALL_SIDES = (*SIDES, LOOKUP)
DESTINATIONS = 16


def command(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)[:200]}: status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def cgroup_mount():
    for line in open("/proc/self/mountinfo"):
        if " - cgroup2 " in line:
            return line.split()[4]
    raise RuntimeError("no cgroup2 hierarchy is mounted")


class Worker:
    def __init__(self, words, **options):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def ask(self, verb, address, port, calls, width=1, host=""):
        line = ""
        try:
            self.process.stdin.write(f"{verb} {address} {port} {calls} {width} {host}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            raise RuntimeError(f"the worker for {verb} ended with status {self.process.wait(20)}")
        return json.loads(line)

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Sides:
    def __init__(self, build, sides=SIDES, pools=None):
        self.build, self.sides, self.pools = build, sides, pools
        self.netcordon, self.tool = f"{build}/netcordon", f"{build}/tests/bench/call_cost"
        self.folder = tempfile.mkdtemp(prefix="nctest-bench-calls-")
        os.chmod(self.folder, 0o755)
        self.mark = os.getpid()
        self.name = os.path.basename(self.folder)
        self.mount = cgroup_mount()
        self.pins = f"/sys/fs/bpf/{self.name}"
        self.far = f"nc-bench-far-{self.mark}"
        self.workers, self.children, self.runs = {}, [], 0
        self.cpus = sorted(os.sched_getaffinity(0))

    # names and addresses; the second cable's far end is ADDRESS with cut=True
    def space(self, side):
        return f"nc-bench-{side[:5]}-{self.mark}"

    def address(self, side, cut=False):
        return f"93.184.{16 + 2 * ALL_SIDES.index(side) + cut}.34"

    def root(self, side):
        return f"{self.mount}/{self.name}/{side}"

    def inside(self, side, *words):
        return ["nsenter", f"--net=/run/netns/{self.space(side)}", *words]

    def listed(self, side):
        """What this side may reach: both cables for TCP and UDP and port 80, and others up to the number."""
        own = [(self.address(side, cut), port, protocol) for cut in (False, True) for port, protocol in ((443, "tcp"), (443, "udp"))]
        own.append((self.address(side), 80, "tcp"))
        return own + [(f"93.185.{i // 250}.{i % 250 + 1}", 443, "tcp") for i in range(DESTINATIONS - len(own))]

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)
        return f"{self.folder}/{name}"

    def profile(self, name, side, more=()):
        listed = [{"host": host, "port": port, "protocol": protocol} for host, port, protocol in [*self.listed(side), *more]]
        return self.write(name, json.dumps({"version": 1, "network": {"mode": "allowlist", "destinations": listed}, "loopback": "own_netns"}))

    def config(self):
        document = {"version": 1, "upstreams": ["127.0.0.1"], **({"pools": self.pools} if self.pools else {})}
        return self.write("netcordon.conf", json.dumps(document))

    def cable(self, side, cut):
        near, far, address = f"n{int(cut)}", f"f{ALL_SIDES.index(side)}{int(cut)}", self.address(side, cut)
        command("ip", "-n", self.space(side), "link", "add", near, "type", "veth", "peer", "name", far, "netns", self.far)
        for space, device, own in ((self.space(side), near, address[:-2] + "1"), (self.far, far, address)):
            command("ip", "-n", space, "addr", "add", f"{own}/24", "dev", device)
            if cut:
                command("ip", "-n", space, "link", "set", device, "gso_max_segs", "1")
            command("ip", "-n", space, "link", "set", device, "up")
        return near, far

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:  # what there is of it goes again
            self.__exit__()
            raise

    def begin(self):
        os.mkdir(f"{self.mount}/{self.name}")
        if command("stat", "-f", "-c", "%T", "/sys/fs/bpf").strip() != "bpf_fs":  # as netcordon itself mounts it at its first host up
            command("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        os.mkdir(self.pins)
        command("ip", "netns", "add", self.far)
        command("ip", "-n", self.far, "link", "set", "lo", "up")
        for side in self.sides:
            os.mkdir(self.root(side))
            command("ip", "netns", "add", self.space(side))
            command("ip", "-n", self.space(side), "link", "set", "lo", "up")
            for cut in (False, True):
                self.cable(side, cut)
        self.key = f"{self.folder}/key.pem"
        command(self.netcordon, "key", "generate", self.key)
        self.configuration = self.config()
        if "netcordon" in self.sides:
            command(self.netcordon, "host", "up", "--config", self.configuration, "--root", self.root("netcordon"))
        self.start_far()
        for side in self.sides:
            self.start(side)
        for side, worker in self.workers.items():
            worker.ask("udp_connect", self.address(side), 443, 1)  # it answers, so what it runs in stands
        return self

    def pinned(self, far=False):
        """Workers on one processor, the far end on another, where there are two."""
        return ["taskset", "-c", str(self.cpus[-1] if far else self.cpus[0])]

    def start_far(self):
        words = ["nsenter", f"--net=/run/netns/{self.far}", *self.pinned(far=True), self.tool, "serve"]
        self.children.append(subprocess.Popen(words))
        for _ in range(200):
            if ":443" in command("nsenter", f"--net=/run/netns/{self.far}", "ss", "-Hlnt"):
                return
            time.sleep(0.05)
        raise RuntimeError("the far end does not listen")

    def run(self, profile, *words, side="netcordon", instance=None):
        self.runs += 1
        named = ["--instance", instance] if instance else []
        return [self.netcordon, "run", "--config", self.configuration, "--root", self.root(side), *named, "--netns", f"/run/netns/{self.space(side)}",
                "--profile", profile, "--evidence", f"{self.folder}/evidence-{self.runs}", "--key", self.key, "--", *words]

    def start(self, side):
        if side == "netcordon":
            words = [*self.pinned(), *self.run(self.profile("profile", side), self.tool)]
        elif side in ("empty", LOOKUP):
            os.makedirs(f"{self.root(side)}/slice/leaf")
            words = self.inside(side, "env", f"LISTED={self.pins}/listed", *self.pinned(), f"{self.build}/tests/bench/empty_hooks",
                                f"{self.build}/tests/bench/{side}.bpf.o", self.root(side), f"{self.root(side)}/slice", "sh", "-c", f'echo 0 >{self.root(side)}/slice/leaf/cgroup.procs; exec "$@"', "sh", self.tool)
        else:
            if side == "nftables":
                self.filter(side)
            words = self.inside(side, *self.pinned(), "sh", "-c", f'echo 0 >{self.root(side)}/cgroup.procs; exec "$@"', "sh", self.tool)
        self.workers[side] = Worker(words)

    def filter(self, side):
        """What one writes by hand: a cgroup's packets may go to the addresses, protocols and ports of a set, and nowhere else but loopback."""
        elements = ", ".join(f"{host} . {protocol} . {port}" for host, port, protocol in self.listed(side))
        match = f'socket cgroupv2 level 2 "{self.name}/{side}"'
        rules = f"""table inet cordon {{
            set listed {{ type ipv4_addr . inet_proto . inet_service; elements = {{ {elements} }} }}
            chain out {{ type filter hook output priority filter; policy accept;
                {match} oifname != "lo" ip daddr . meta l4proto . th dport @listed accept
                {match} oifname != "lo" meta l4proto tcp reject with tcp reset
                {match} oifname != "lo" reject
            }}
        }}"""
        shown = 'test -d "/sys/fs/cgroup/$2" || mount --bind "$1" /sys/fs/cgroup; exec nft -f "$3"'  # nft finds a cgroup by its path there alone
        command(*self.inside(side, "unshare", "-m", "sh", "-c", shown, "sh", self.mount, self.name, self.write("rules", rules)))

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.end()
        if "netcordon" in self.sides:
            subprocess.run([self.netcordon, "host", "down", "--force", "--root", self.root("netcordon")], capture_output=True, timeout=120)
        for child in self.children:
            child.send_signal(signal.SIGKILL)
            child.wait()
        for space in [self.far, *(self.space(side) for side in self.sides)]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, timeout=60)
        for folder, _, _ in os.walk(f"{self.mount}/{self.name}", topdown=False):
            self.remove(folder)
        shutil.rmtree(self.pins, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def remove(cgroup):
        for _ in range(100):
            try:
                return os.rmdir(cgroup)
            except OSError:
                time.sleep(0.05)
        print(f"bench: left behind: {cgroup}", file=sys.stderr)


def in_own_mounts(inside="NETCORDON_BENCH_MOUNTS"):
    """Starts the program anew in a mount namespace of its own, with a fresh memory file system on /run, as distributions have one."""
    if inside not in os.environ:
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], {**os.environ, inside: "1"})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))  # and what was made goes
    command("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
