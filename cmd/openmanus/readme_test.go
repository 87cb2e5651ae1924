//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/openmanus-go/openmanus/internal/release"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm/catalogue"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// readmes are the pages that everybody sees first, in each language.
var readmes = []string{"README.md", "docs/README.zh-CN.md"}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lineOf returns the number of the first line of a text that has these words, or the largest number.
func lineOf(text, words string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, words) {
			return i + 1
		}
	}
	return int(^uint(0) >> 1)
}

// TestReadmeLeads checks that each reader finds the beginning of their way near the top.
func TestReadmeLeads(t *testing.T) {
	for _, name := range readmes {
		text := readPage(t, name)
		if n := strings.Count(text, "\n"); n > 120 {
			t.Errorf("%s has %d lines, which are more than 120", name, n)
		}
		for words, last := range map[string]int{
			"![": 14, repository + "/releases": 40, "make run": 40, "make test": 40, "](#": 40,
			"README.": 6, // the other language
		} {
			if n := lineOf(text, words); n > last {
				t.Errorf("%s has %q in line %d, and not by line %d", name, words, n, last)
			}
		}
	}
}

// commandsOf returns the lines in the blocks of shell of a page, without their comments.
func commandsOf(page string) (lines []string) {
	for _, block := range codeBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[2]) {
			if line = strings.TrimSpace(regexp.MustCompile(`\s+#.*`).ReplaceAllString(line, "")); block[1] == "sh" && line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// inlineCommand finds commands within sentences.
var inlineCommand = regexp.MustCompile("`((?:openmanus|go)(?: [^`]*)?)`")

func inlineOf(page string) (all []string) {
	for _, m := range inlineCommand.FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestReadmesSayTheSame compares what the languages have people type.
func TestReadmesSayTheSame(t *testing.T) {
	one, other := readPage(t, readmes[0]), readPage(t, readmes[1])
	for what, of := range map[string]func(string) []string{"blocks": commandsOf, "sentences": inlineOf} {
		a, b := of(one), of(other)
		if what == "blocks" { // tasks are in the language of the page
			task := regexp.MustCompile(`"[^"]*"`)
			for i := range a {
				a[i] = task.ReplaceAllString(a[i], `""`)
			}
			for i := range b {
				b[i] = task.ReplaceAllString(b[i], `""`)
			}
		}
		if !slices.Equal(a, b) {
			t.Errorf("the commands in the %s of %s and of %s differ:\n%q\n%q", what, readmes[0], readmes[1], a, b)
		}
	}
}

// publishHere serves a release whose program is the one that is tested, as the address of the project does: the
// newest release, and the same by its version. Its install.sh is that of scripts/release.
func publishHere(t *testing.T) (home string) {
	t.Helper()
	testbed.Need(t, "curl", "ssh-keygen", "tar")
	program, err := exec.LookPath("openmanus")
	if err != nil {
		t.Fatal(err)
	}
	const version = "v9.9.9"
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "release", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("openmanus_%s_%s_%s", version[1:], runtime.GOOS, runtime.GOARCH)
	files := map[string]string{"openmanus": "#!/bin/sh\nexec '" + program + "' \"$@\"\n", "man/man1/openmanus.1": "a page", "completions/openmanus.bash": "", "completions/_openmanus": "", "completions/openmanus.fish": ""}
	for _, name := range []string{"README.md", "LICENSE", "THIRD_PARTY_LICENSES.txt", "CHANGELOG.md", "openmanus.service"} {
		files[name] = name
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: dir + "/" + name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive.Bytes())
	sums := hex.EncodeToString(sum[:]) + "  " + dir + ".tar.gz\n"
	sig, err := sshsig.Sign(strings.NewReader(sums), key, sshsig.HashSHA512, release.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	script = []byte(strings.NewReplacer("@VERSION@", version, "@PLAIN@", version[1:], "@NAMESPACE@", release.Namespace, "@HOME@", server.URL,
		"@KEYS@", strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))).Replace(string(script)))
	for name, data := range map[string][]byte{
		"install.sh": script, dir + ".tar.gz": archive.Bytes(), release.SumsFile: []byte(sums),
		release.SignatureFile: []byte("-----BEGIN SSH SIGNATURE-----\n" + base64.StdEncoding.EncodeToString(sig.Marshal()) + "\n-----END SSH SIGNATURE-----\n"),
	} {
		answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
		mux.HandleFunc("/releases/download/"+version+"/"+name, answer)
		mux.HandleFunc("/releases/latest/download/"+name, answer)
	}
	return server.URL
}

// localModel answers as Ollama with one model does, which does the first task.
func localModel(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		message := `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"bash","arguments":{"command":"sort -t, -k2 -n sales.csv | tail -3 > report.md"}}}]}`
		if strings.Contains(string(body), `"role":"tool"`) {
			message = `{"role":"assistant","content":"The report is in report.md."}`
		}
		switch {
		case err == nil && r.URL.Path == "/api/chat" && strings.Contains(string(body), `"model":"qwen3:8b"`):
			fmt.Fprintf(w, `{"model":"qwen3:8b","message":%s,"done":true,"done_reason":"stop","prompt_eval_count":4000,"eval_count":9}`+"\n", message)
		case r.URL.Path == "/api/show":
			fmt.Fprint(w, `{"capabilities":["completion","tools"],"model_info":{"qwen3.context_length":40960}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A reader has a new home directory, and types what the page says.
type reader struct {
	home string
	env  []string
}

// newReader makes the home of a reader, and what they have beside OpenManus.
func newReader(t *testing.T) *reader {
	t.Helper()
	dir := write(t, "home/.keep", "", "bin/ollama", "#!/bin/sh\n[ \"$*\" = 'pull qwen3:8b' ]\n")
	if err := os.Chmod(filepath.Join(dir, "bin", "ollama"), 0o755); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	return &reader{home, append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "NO_COLOR=1",
		"OPENMANUS_MODEL=", "OLLAMA_HOST="+localModel(t),
		"PATH="+filepath.Join(home, ".local", "bin")+":"+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))}
}

// types has a shell read these lines, and returns what it prints.
func (r *reader) types(t *testing.T, lines string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", lines)
	cmd.Dir, cmd.Env = r.home, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, lines, out)
	}
	return string(out)
}

// TestReadmeIsPlayed types every command of the README: those in blocks in their order, with the address of the
// project replaced by that of a release on this machine, and those in sentences one by one. Here make only
// says what it would do: scripts/bare plays that, on a machine that has nothing else.
func TestReadmeIsPlayed(t *testing.T) {
	if runtime.GOOS == "linux" {
		testbed.Need(t, "bwrap")
	}
	testbed.Need(t, "make", "jq")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, home := readPage(t, "README.md"), publishHere(t)
	r := newReader(t)
	typed := "set -eo pipefail\n"
	for _, line := range commandsOf(page) {
		switch {
		case strings.HasPrefix(line, "make "):
			line = "make -n -C '" + root + "' " + strings.TrimPrefix(line, "make ")
		case strings.Contains(line, "sessions rewind"): // the command would ask, and the test has no terminal
			line += " --yes"
		}
		typed += "echo '" + strings.ReplaceAll("$ "+line, "'", `'\''`) + "'\n" + strings.ReplaceAll(line, repository, home) + "\n"
	}
	out := r.types(t, typed)
	for _, want := range []string{
		"Try: openmanus demo", "scripts/run", "scripts/test plain", "8000 tokens in (0 cached), 18 out\n", "The report is in report.md.", "+++ b/report.md", "+2026-03,35900", "1 file put back, 1 message taken back",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if installed, err := os.ReadFile(filepath.Join(r.home, ".local", "bin", "openmanus")); err != nil || !strings.HasPrefix(string(installed), "#!/bin/sh\nexec ") {
		t.Errorf("the program that was installed: %q, %v", installed, err)
	}
	for _, command := range inlineOf(page) {
		switch command {
		case "openmanus", "openmanus setup":
			// TestFullScreen and TestSetup have a terminal
		case "openmanus serve":
			// TestServeIsKilled and many others do
		case "go get github.com/openmanus-go/openmanus":
			// the program is compiled by its own test, and TestReadmeCountsModules looks what comes along
		case "go doc github.com/openmanus-go/openmanus":
			if out := r.types(t, "cd '"+root+"' && "+command); !strings.Contains(out, "package openmanus") {
				t.Errorf("%s: %s", command, out)
			}
		case `openmanus run --output json "…"`:
			if out := r.types(t, "cd sales && export OPENMANUS_MODEL=ollama/qwen3:8b && "+command+" 2>/dev/null | jq -r .answer"); out != "The report is in report.md.\n" {
				t.Errorf("%s: %s", command, out)
			}
		case "openmanus docs", "openmanus usage":
			r.types(t, command)
		default:
			t.Errorf("nothing plays %s", command)
		}
	}
}

// TestHalfAnInstaller gives a shell the beginning of install.sh, as a connection does that ends: nothing is installed.
func TestHalfAnInstaller(t *testing.T) {
	home := publishHere(t)
	r := newReader(t)
	script := r.types(t, "curl -fsSL "+home+"/releases/latest/download/install.sh")
	cut := strings.Count(script, "\n")
	for n := 1; n < cut; n += 7 {
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(strings.Join(strings.SplitAfter(script, "\n")[:n], ""))
		cmd.Dir, cmd.Env = r.home, r.env
		out, _ := cmd.CombinedOutput() // a shell may or may not mind
		if _, err := os.Stat(filepath.Join(r.home, ".local")); err == nil {
			t.Fatalf("%d of %d lines install something:\n%s", n, cut, out)
		}
	}
	r.types(t, "sh <<'END'\n"+script+"END\n[ -x .local/bin/openmanus ]")
}

// TestReadmeHasTheDemo compares the end of the demo with what the program prints, and its tokens with what
// the page says that they would cost.
func TestReadmeHasTheDemo(t *testing.T) {
	shown := regexp.MustCompile("(?s)```console\n\\$ openmanus demo\n…\n(.*?)```")
	p := sit(t, t.TempDir(), "demo")
	p.sees(`\d+ tokens in .* out\r?\n`)
	p.leaves(exitFinished)
	printed := strings.Split(strings.TrimSuffix(strings.ReplaceAll(p.screen(), "\r", ""), "\n"), "\n")
	number := regexp.MustCompile(`\d+ tokens in \(\d+ cached\), \d+ out|\d+ bytes|\d+\.\d+s`) // which a change of a prompt moves
	const lines = 10
	want := strings.Join(printed[max(0, len(printed)-lines):], "\n") + "\n"
	for _, name := range readmes {
		m := shown.FindStringSubmatch(readPage(t, name))
		if m == nil || number.ReplaceAllString(m[1], "N") != number.ReplaceAllString(want, "N") {
			t.Errorf("%s does not end as the demo does:\n%s\nwant\n%s", name, m, want)
		}
	}
	tokens := regexp.MustCompile(`(\d+) tokens in .*, (\d+) out`).FindStringSubmatch(want)
	if tokens == nil {
		t.Fatalf("it does not say how many tokens it took:\n%s", want)
	}
	in, _ := strconv.Atoi(tokens[1])
	written, _ := strconv.Atoi(tokens[2])
	m, ok := catalogue.Find(&provider.Provider{Name: "openai"}, "gpt-5-mini")
	const cent = 1e7 // billionths of a dollar
	if cost := int64(in)*m.PriceIn + int64(written)*m.PriceOut; !ok || cost <= 0 || cost >= cent {
		t.Errorf("the demo would cost %d billionths of a dollar, which are not less than one cent", cost)
	}
}
