package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// A dialogue is a shell in a sandbox that runs one line after the other.
type dialogue struct {
	t    *testing.T
	door *workspace.Door
	in   io.WriteCloser
	out  *bufio.Reader
	end  chan error
}

func converse(t *testing.T, ws *workspace.Dir) *dialogue {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	d := &dialogue{t: t, door: new(workspace.Door), in: inW, out: bufio.NewReader(outR), end: make(chan error, 1)}
	go func() {
		err := ws.Run(t.Context(), &workspace.Cmd{
			Args: []string{"bash", "-c", `while read -r line; do eval "$line" 2>&1; echo "[exit $?]"; done`}, Stdin: inR, Stdout: outW, Door: d.door,
		})
		inR.Close()
		outW.Close()
		d.end <- err
	}()
	return d
}

// run returns what a line prints, with its exit code.
func (d *dialogue) run(line string) string {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
	var all strings.Builder
	for {
		text, err := d.out.ReadString('\n')
		all.WriteString(text)
		if strings.Contains(text, "[exit ") || err != nil {
			return all.String()
		}
	}
}

// open opens ports and fails the test if that is impossible.
func (d *dialogue) open(ports ...int) func() {
	d.t.Helper()
	shut, err := d.door.Open(d.t.Context(), ports...)
	if err != nil {
		d.t.Fatal(err)
	}
	return shut
}

func (d *dialogue) close() {
	d.in.Close()
	if err := <-d.end; err != nil {
		d.t.Error(err)
	}
}

// server returns a server of this machine that answers with a text, and its port.
func server(t *testing.T, text string) (*httptest.Server, int) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v\n", text, len(data), err)
	}))
	t.Cleanup(s.Close)
	return s, s.Listener.Addr().(*net.TCPAddr).Port
}

// A server of the person's on localhost is reached while its port is open, by every kind
// of client, and no other server is.
func TestDoors(t *testing.T) {
	testbed.Need(t, "curl")
	_, port := server(t, "mine")
	_, other := server(t, "STRANGER")
	clients := map[string]string{
		"curl":    "curl -sS --max-time 20 http://localhost:%d/",
		"python3": `/usr/bin/python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:%d/').read().decode().strip())"`,
		"node":    `node -e "fetch('http://localhost:%d/').then(r => r.text()).then(t => process.stdout.write(t), e => { console.log(e.cause); process.exit(1) })"`,
		"bash":    `exec 9<>/dev/tcp/127.0.0.1/%d && printf 'GET / HTTP/1.0\r\n\r\n' >&9 && cat <&9`,
	}
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: kind, Toolchains: []string{sandbox.AutoToolchains}})
			defer ws.Close()
			if !workspace.Opens(ws) {
				t.Fatal("it cannot open ports")
			}
			d, same := converse(t, ws), converse(t, ws)
			defer d.close()
			defer same.close()
			reaches := func(d *dialogue, line string, port int) bool {
				t.Helper()
				out := d.run(fmt.Sprintf("("+line+")", port))
				t.Logf("%s: %s", line, out)
				if strings.Contains(out, "mine 0") != strings.Contains(out, "[exit 0]") || strings.Contains(out, "STRANGER") {
					t.Errorf("%s: %s", line, out)
				}
				return strings.Contains(out, "mine 0")
			}
			if reaches(d, clients["curl"], port) {
				t.Error("it is reached before it is open")
			}
			shut := d.open(port)
			for name, line := range clients {
				if !testbed.Has(t, name) {
					continue
				}
				if !reaches(d, line, port) {
					t.Errorf("%s does not reach it", name)
				}
				if reaches(d, line, other) {
					t.Errorf("%s reaches another server", name)
				}
				if reaches(same, line, port) {
					t.Errorf("%s of another command reaches it", name)
				}
			}
			if out := d.run(fmt.Sprintf("head -c 3000000 /dev/zero | curl -sS --data-binary @- http://127.0.0.1:%d/", port)); out != "mine 3000000 <nil>\n[exit 0]\n" {
				t.Errorf("much: %s", out)
			}
			if kind == sandbox.Landlock { // it is opened twice, and closed once
				d.open(port)()
				if !reaches(d, clients["curl"], port) {
					t.Error("it is closed, and one that opened it has not closed it")
				}
			}
			shut()
			if reaches(d, clients["curl"], port) {
				t.Error("it is reached after it was closed")
			}
		})
	}
}

// Where a program in the sandbox has the port, or the command has ended, it cannot be
// opened.
func TestDoorsThatCannotBeOpened(t *testing.T) {
	testbed.Need(t, testbed.Python)
	_, port := server(t, "mine")
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap})
	defer ws.Close()
	d := converse(t, ws)
	d.run(fmt.Sprintf(`/usr/bin/python3 -c "import socket, os, time; s = socket.create_server(('127.0.0.1', %d)); os.fork() or time.sleep(1000)"`, port))
	if _, err := d.door.Open(t.Context(), port); !errors.Is(err, workspace.ErrTaken) {
		t.Errorf("%v, want ErrTaken", err)
	}
	d.close()
	if _, err := d.door.Open(t.Context(), port); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("after its end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(workspace.Door).Open(ctx, port); !errors.Is(err, context.Canceled) {
		t.Errorf("before it begins: %v", err)
	}
	for _, o := range []sandbox.Options{{Kind: sandbox.None}, {Kind: sandbox.Bubblewrap, ReadOnly: true}, {Kind: sandbox.Landlock, Network: sandbox.AllNetwork}} {
		o.Dir = t.TempDir()
		ws := open(t, o)
		if o.Kind == sandbox.None && workspace.Opens(ws) || o.Kind != sandbox.None && workspace.Opens(ws) {
			t.Errorf("%+v: it opens ports", o)
		}
		ws.Close()
	}
}

// inLandlock tries to make more of an open port in Landlock than a connection to it.
const inLandlock = `
import os, socket, struct
port, host = %d, "%s"
def can(what, f):
    try:
        f()
    except OSError as e:
        print("refused", what, e)
    else:
        print("REACHED", what)
def tcp():
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
can("listen", lambda: tcp().listen())
can("bind", lambda: tcp().bind(("127.0.0.1", 0)))
can("bind anywhere", lambda: tcp().bind(("", 0)))
can("another port", lambda: tcp().connect(("127.0.0.1", port + 1)))
can("another address", lambda: tcp().connect((host, port)))
can("an address elsewhere", lambda: tcp().connect(("192.0.2.1", port)))
can("send and connect", lambda: tcp().sendto(b"x", 0x20000000, ("127.0.0.1", port)))
can("datagrams", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
can("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
can("multipath", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
can("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
s = tcp()
s.connect(("127.0.0.1", port))
can("connect again", lambda: s.connect((host, port)))
s.shutdown(socket.SHUT_RDWR)
s.close()
s = tcp()
s.connect(("127.0.0.1", port))
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.connect(s.fileno(), struct.pack("H14x", 0), 16) # AF_UNSPEC: takes the connection away
can("listen after a connection", lambda: s.listen())
can("connect after a connection", lambda: s.connect((host, port)))
can("send after a connection", lambda: s.sendto(b"x", 0x20000000, (host, port)))
s = tcp()
s.setsockopt(6, 30, 1) # TCP_FASTOPEN_CONNECT
can("connect later", lambda: (s.connect((host, port)), s.send(b"x")))
print("TRIED")
`

// While a port is open in Landlock, a socket leads there and nowhere else.
func TestADoorInLandlockLeadsNowhereElse(t *testing.T) {
	testbed.Need(t, testbed.Python)
	_, port := server(t, "mine")
	away := "127.0.0.1"
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			away = ip.IP.String()
		}
	}
	if away == "127.0.0.1" {
		away = "198.51.100.1" // of no machine
	}
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Landlock})
	defer ws.Close()
	if err := ws.WriteFile(t.Context(), "try.py", fmt.Appendf(nil, inLandlock, port, away)); err != nil {
		t.Fatal(err)
	}
	d := converse(t, ws)
	defer d.close()
	defer d.open(port)()
	out := d.run("/usr/bin/python3 try.py")
	if !strings.Contains(out, "TRIED") || strings.Contains(out, "REACHED") {
		t.Error(out)
	}
	t.Log(out)
}
