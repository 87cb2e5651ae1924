package host_test

import (
	"archive/zip"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Every tool that reads or writes files of a workspace, in whatever way it comes
// to them, leaves alone what a rule denies, and what a rule asks about unless the
// call names it. The gate is not in the way here: it sees only arguments.
func TestNoToolReachesADeniedPath(t *testing.T) {
	p := newPlace(t, "-- any --\nDone.\n")
	p.write("home/config/openmanus/config.toml", "[approval]\n"+
		"deny = [\"path:secret.csv\", \"path:"+p.path("ws")+"/vault\", \"edit:charts/*\"]\nask = [\"path:asked.csv\"]\n")
	table := "day,PASSW0RD\n2024-01-01,1\n2024-01-02,2\n"
	for _, name := range []string{"ws/secret.csv", "ws/sub/secret.csv", "ws/vault/v.csv", "ws/asked.csv"} {
		p.write(name, table)
	}
	p.write("ws/list.json", `[{"data":"secret.csv","title":"a"},{"data":"asked.csv","title":"b"},{"data":"vault/v.csv","title":"c"}]`)
	p.write("ws/report.md", "![](secret.csv)\n\n![](asked.csv)\n\n![](link.csv)\n")
	p.write("ws/charts/x.txt", "kept")
	if err := os.Symlink("secret.csv", p.path("ws/link.csv")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"secret.csv", "deep/asked.csv"} {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(table))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p.write("ws/all.zip", b.String())

	h, _, _ := p.open("agent=manus", "sandbox=none")
	agent, closer, err := h.BareAgent(p.spec(h, func(s *openmanus.Spec) { s.SandboxKind = "none" }))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	run := func(tool, input string) (string, error) {
		t.Helper()
		res, err := agent.Tool(tool).Run(t.Context(), openmanus.Call{Call: llm.Call{Name: tool, Input: input}})
		text := res.Parts.Text()
		if err != nil {
			text += err.Error()
		}
		return text, err
	}
	for _, c := range [][2]string{
		{"grep", `{"pattern":"PASSW0RD"}`}, {"grep", `{"pattern":"PASSW0RD","hidden":true,"no_ignore":true}`},
		{"grep", `{"pattern":"PASSW0RD","glob":"secret.csv"}`}, {"grep", `{"pattern":"PASSW0RD","path":"vault"}`},
		{"grep", `{"pattern":"PASSW0RD","path":"link.csv"}`},
		{"str_replace_editor", `{"command":"view","path":"` + p.path("ws/link.csv") + `"}`},
		{"data_visualization", `{"tool_type":"visualization","json_path":"list.json"}`},
		{"data_visualization", `{"tool_type":"profile","data":"link.csv"}`},
		{"data_report", `{"path":"report.md","output":"out","formats":["html"]}`},
		{"read_document", `{"path":"all.zip"}`}, {"read_document", `{"path":"link.csv"}`},
	} {
		if agent.Tool(c[0]) == nil {
			t.Errorf("there is no tool %s", c[0])
			continue
		}
		if text, _ := run(c[0], c[1]); strings.Contains(text, "PASSW0RD") {
			t.Errorf("%s %s reads what is denied:\n%s", c[0], c[1], text)
		}
	}
	if out, err := os.ReadFile(p.path("ws/out.html")); err != nil || bytes.Contains(out, []byte("PASSW0RD")) {
		t.Errorf("the report has it, or is missing: %v", err)
	}
	for _, pattern := range []string{"**/*.csv", "vault/*"} {
		if text, _ := run("glob", `{"pattern":"`+pattern+`"}`); strings.Contains(text, "secret") || strings.Contains(text, "v.csv") {
			t.Errorf("glob %s lists what is denied:\n%s", pattern, text)
		}
	}
	if text, err := run("file_saver", `{"file_path":"charts/x.txt","content":"x"}`); err == nil {
		t.Errorf("a file that must not be edited was: %s", text)
	}
	p.write("ws/free.csv", "day,FREE\n2024-01-01,1\n")
	p.write("ws/free.json", `[{"data":"free.csv","title":"f"}]`)
	for _, c := range [][3]string{ // a result names the files that it is from, not those that the call names
		{"grep", `{"pattern":"FREE"}`, "file:free.csv"},
		{"data_visualization", `{"tool_type":"visualization","json_path":"free.json"}`, "file:free.json file:free.csv"},
	} {
		res, err := agent.Tool(c[0]).Run(t.Context(), openmanus.Call{Call: llm.Call{Name: c[0], Input: c[1]}})
		var from []string
		for _, s := range res.Sources {
			from = append(from, s.From)
		}
		if got := strings.Join(from, " "); err != nil || got != c[2] {
			t.Errorf("%s %s is from %q, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
	for _, c := range [][2]string{ // a file that the call names is judged by the gate
		{"grep", `{"pattern":"PASSW0RD","path":"asked.csv"}`}, {"data_visualization", `{"tool_type":"profile","data":"asked.csv"}`},
	} {
		if text, err := run(c[0], c[1]); err != nil || !strings.Contains(text, "PASSW0RD") {
			t.Errorf("%s %s does not read what it names: %s, %v", c[0], c[1], text, err)
		}
	}
}
