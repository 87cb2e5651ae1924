package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// desk is a workspace with files of testdata and what the test gives it.
func desk(t *testing.T, files map[string]string) workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	passengers, err := os.ReadFile("../testdata/airpassengers.csv")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"passengers.csv": string(passengers), "regions.csv": "region,product,revenue\nNorth,A,700\nNorth,B,100\nSouth,A,120\nWest,B,80\n"}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

func use(tool openmanus.Tool, input string) (string, openmanus.Result, error) {
	res, err := tool.Run(context.Background(), openmanus.Call{Call: llm.Call{Input: input}})
	text := ""
	for _, p := range res.Parts {
		if p, ok := p.(llm.Text); ok {
			text += p.Text
		}
	}
	return text, res, err
}

func content(t *testing.T, ws workspace.Workspace, name string) string {
	t.Helper()
	data, err := fs.ReadFile(ws.FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in\n%s", w, got)
		}
	}
}

// TestAsOpenManusDoesIt: a list of CSV files and titles becomes charts under
// visualization/, with a specification and insights beside each, and no file
// is ever written over.
func TestAsOpenManusDoesIt(t *testing.T) {
	ws := desk(t, map[string]string{"list.json": `[{"csvFilePath":"passengers.csv","chartTitle":"Passengers by month"},{"csvFilePath":"regions.csv","chartTitle":"Revenue by region"}]`})
	tool := NewVisualization(ws)
	text, res, err := use(tool, `{"json_path":"list.json","output_type":"png","tool_type":"visualization","language":"en"}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "Charts Generated Successfully!", "## Passengers by month\nChart saved in: visualization/Passengers_by_month.png", "## Revenue by region", "1. passengers: rising by 29.42 per year", "repeats every 12 months")
	if d := res.Detail.([]Drawn); len(d) != 2 || d[0].Kind != "line" || d[1].Kind != "bar" || d[1].Chart != "visualization/Revenue_by_region.png" {
		t.Errorf("%+v", d)
	}
	contains(t, content(t, ws, "visualization/Passengers_by_month.md"), "## Passengers by month Insights\n1. ")
	contains(t, content(t, ws, "visualization/Passengers_by_month.png"), "PNG")
	if _, err := chart.Parse([]byte(content(t, ws, "visualization/Passengers_by_month.json"))); err != nil {
		t.Error(err)
	}
	before := content(t, ws, "visualization/Revenue_by_region.png")
	text, _, err = use(tool, `{"json_path":"list.json"}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "visualization/Revenue_by_region_new.html")
	if content(t, ws, "visualization/Revenue_by_region.png") != before {
		t.Error("the chart was written over")
	}
}

// TestInsightsAreDrawnOntoTheChart, by their ids, and an id that is not there
// is refused with those that are.
func TestInsightsAreDrawnOntoTheChart(t *testing.T) {
	ws := desk(t, nil)
	tool := NewVisualization(ws)
	if _, _, err := use(tool, `{"data":"passengers.csv","title":"P","output_type":"svg"}`); err != nil {
		t.Fatal(err)
	}
	before := content(t, ws, "visualization/P.svg")
	// OpenManus finds charts below visualization/ by their bare names.
	text, _, err := use(tool, `{"tool_type":"insight","chart_path":"P.svg","insights_id":[1]}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "# Charts Update with Insights\nvisualization/P.svg")
	if after := content(t, ws, "visualization/P.svg"); after == before || !strings.Contains(after, ">trend<") {
		t.Error("nothing was drawn")
	}
	if _, _, err = use(tool, `{"tool_type":"insight","chart_path":"visualization/P.svg","insights_id":[]}`); err != nil || content(t, ws, "visualization/P.svg") != before {
		t.Error("the marks were not taken away:", err)
	}
	_, _, err = use(tool, `{"tool_type":"insight","chart_path":"P.svg","insights_id":[99]}`)
	if err == nil {
		t.Fatal("insight 99 was drawn")
	}
	contains(t, err.Error(), "no insight 99; it has:\n1. ")
}

func TestProfile(t *testing.T) {
	ws := desk(t, nil)
	tool := NewVisualization(ws)
	text, _, err := use(tool, `{"tool_type":"profile","data":"regions.csv"}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "regions.csv: 4 rows, 3 columns", `- region: text, 3 different: "North" 2×`, "- revenue: number, 80 to 700, mean 250, median 110", "| North | A | 700 |")
	h := tool.(openmanus.CallHinter)
	if got := h.Hints(openmanus.Call{Call: llm.Call{Input: `{"tool_type":"profile"}`}}); !got.ReadOnly || got.Edits {
		t.Errorf("%+v", got)
	}
	if got := h.Hints(openmanus.Call{Call: llm.Call{Input: `{"data":"x"}`}}); got.ReadOnly || !got.Edits {
		t.Errorf("%+v", got)
	}
}

// TestOneFailureDoesNotHideTheRest: what could be drawn is there, what could
// not is an error with its reason.
func TestOneFailureDoesNotHideTheRest(t *testing.T) {
	ws := desk(t, map[string]string{"list.json": `[{"csvFilePath":"none.csv","chartTitle":"N"},{"csvFilePath":"regions.csv","chartTitle":"R"},{"data":"regions.csv","x":"nowhere","title":"X"}]`})
	text, _, err := use(NewVisualization(ws), `{"json_path":"list.json"}`)
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, text, "visualization/R.html")
	contains(t, err.Error(), "# Error chart generated", "## N\nNo such file or directory: none.csv", `no column "nowhere"; it has "region", "product", "revenue"`)
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	ws := desk(t, map[string]string{"bad.json": `{"a":1}`, "empty.json": `[]`, "words.csv": "a,b\nx,y\n", "spec.json": `{"kind":"bar"}`})
	tool := NewVisualization(ws)
	for input, want := range map[string]string{
		`{}`:                                     "nothing to draw",
		`{"tool_type":"insight"}`:                "nothing to draw",
		`{"json_path":"bad.json"}`:               "not a list of charts",
		`{"json_path":"empty.json"}`:             "0 charts",
		`{"json_path":"../x.json"}`:              "outside",
		`{"json_path":"gone.json"}`:              "No such file or directory: gone.json",
		`{"tool_type":"profile"}`:                "in data",
		`{"data":"words.csv","chart":"scatter"}`: "needs two columns of numbers",
		`{"data":"words.csv","y":["a"]}`:         "values to draw are numbers",
		`{"data":"regions.csv","x":"region","bucket":"month","chart":"line","y":["revenue"]}`: "",
		`{"tool_type":"insight","chart_path":"words.csv"}`:                                    "specification",
	} {
		_, _, err := use(tool, input)
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", input, err, want)
		}
	}
}

// TestManyAtOnceGetNamesOfTheirOwn.
func TestManyAtOnceGetNamesOfTheirOwn(t *testing.T) {
	ws := desk(t, nil)
	tool := NewVisualization(ws)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := use(tool, `{"data":"regions.csv","title":"Same","output_type":"svg"}`); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	found, err := fs.Glob(ws.FS(), "visualization/Same*.svg")
	if err != nil || len(found) != 8 {
		t.Error(found, err)
	}
}

func TestFileNames(t *testing.T) {
	for title, want := range map[string]string{"Revenue: by/month?": "Revenue__by_month", "各城市销售额": "各城市销售额", "..": "chart", " ": "chart", "a\x00b": "a_b"} {
		if got := fileName(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	if got := fileName(strings.Repeat("长", 500)); len(got) > 200 {
		t.Error(len(got))
	}
}

// TestPreparation hands code to Python as it is.
func TestPreparation(t *testing.T) {
	var got string
	python := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "python_execute"}, Hints: openmanus.Hints{Destructive: true}},
		func(_ context.Context, _ openmanus.Call, in struct {
			Code string `json:"code"`
		}) (openmanus.Result, error) {
			got = in.Code
			return openmanus.TextResult("list.json"), nil
		})
	tool := NewPreparation(python)
	text, _, err := use(tool, `{"code_type":"visualization","code":"print('list.json')"}`)
	if err != nil || text != "list.json" || got != "print('list.json')" {
		t.Error(text, got, err)
	}
	if !tool.Spec().Hints.Destructive {
		t.Error("code may do anything")
	}
}

func TestSchemasAreJSON(t *testing.T) {
	ws := desk(t, nil)
	for _, tool := range []openmanus.Tool{NewVisualization(ws), NewReport(ws, nil)} {
		var v map[string]any
		if err := json.Unmarshal(tool.Spec().Input, &v); err != nil {
			t.Error(err)
		}
		// Each parameter that the schema has is one that the tool reads.
		if v["additionalProperties"] != false {
			t.Errorf("%s takes what it does not know", tool.Spec().Name)
		}
	}
}

const story = "# Passengers\n\nThey **rise**, by 29 a year. <script>alert(1)</script>\n\n![By month](visualization/P.html)\n\n![The regions](regions.csv)\n\n![gone](nowhere.png) ![far](https://example.com/x.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"

func reported(t *testing.T) (workspace.Workspace, string, Report, error) {
	t.Helper()
	ws := desk(t, map[string]string{"story.md": story})
	if _, _, err := use(NewVisualization(ws), `{"data":"passengers.csv","title":"P"}`); err != nil {
		t.Fatal(err)
	}
	text, res, err := use(NewReport(ws, nil), `{"path":"story.md","output":"out/report.html","formats":["html"]}`)
	d, _ := res.Detail.(Report)
	return ws, text, d, err
}

// TestReport: charts, tables and what is missing are in the page; nothing of
// what the Markdown has of HTML is.
func TestReport(t *testing.T) {
	ws, text, d, err := reported(t)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "Report saved in: out/report.html", "(2 charts, tables and pictures in it)", "Not shown: nowhere.png: No such file or directory", "Not shown: https://example.com/x.png")
	if d.Shown != 2 || len(d.Files) != 1 || len(d.Notes) != 2 {
		t.Errorf("%+v", d)
	}
	page := content(t, ws, "out/report.html")
	script, err := chart.Script()
	if err != nil {
		t.Fatal(err)
	}
	page = strings.Replace(page, string(script), "", 1)
	contains(t, page, "<title>Passengers</title>", `<div class="chart" id="chart-1"`, "<figcaption>By month</figcaption>", `<td class="n">700</td>`, `class="missing"`, `<td dir="auto">1</td>`, "Content-Security-Policy")
	for _, bad := range []string{"<script>alert", `src="http`, "@import", "url(http"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// TestPDF prints a report with Chromium, where there is one; without, the tool
// says so and the HTML is there all the same.
func TestPDF(t *testing.T) {
	ws := desk(t, nil)
	if _, _, err := use(NewVisualization(ws), `{"data":"passengers.csv","title":"P"}`); err != nil {
		t.Fatal(err)
	}
	text, _, err := use(NewReport(ws, nil), fmt.Sprintf(`{"markdown":%q,"output":"r"}`, "# 报告 تقرير\n\n![By month](visualization/P.html)\n"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "Report saved in: r.html")
	if strings.Contains(text, "No PDF: there is no Chromium") {
		if os.Getenv("CI") != "" {
			t.Error("scripts/deps installs a Chromium")
		}
		return
	}
	contains(t, text, "Report saved in: r.pdf")
	contains(t, content(t, ws, "r.pdf"), "%PDF-")
	if left, err := fs.Glob(ws.FS(), ".*html"); err != nil || len(left) > 0 {
		t.Error("left behind:", left, err)
	}
}

// bare is a workspace without any program.
type bare struct{ workspace.Workspace }

func (bare) Run(_ context.Context, cmd *workspace.Cmd) error {
	return fmt.Errorf("exec: %q: %w", cmd.Args[0], fs.ErrNotExist)
}

func TestWithoutChromium(t *testing.T) {
	ws := bare{desk(t, nil)}
	text, _, err := use(NewReport(ws, nil), `{"markdown":"# hi\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "Report saved in: report.html", "No PDF: there is no Chromium", "apt-get install chromium")
	if _, _, err = use(NewReport(ws, nil), `{"markdown":"# hi\n","formats":["pdf"]}`); err == nil || !strings.Contains(err.Error(), "no Chromium") {
		t.Error(err)
	}
	if _, _, err = use(NewReport(ws, nil), `{"markdown":" "}`); err == nil {
		t.Error("an empty report")
	}
}

// TestReportAsks: a report that needs a PDF asks whether Chromium may be installed. After
// a no, it says why there is no PDF.
func TestReportAsks(t *testing.T) {
	ws := bare{desk(t, nil)}
	var answer error = &openmanus.Ask{Question: "install it?"}
	tool := NewReport(ws, func(context.Context, openmanus.Call) error { return answer })
	ask := (*openmanus.Ask)(nil)
	if _, _, err := use(tool, `{"markdown":"# hi\n"}`); !errors.As(err, &ask) {
		t.Error(err)
	}
	if _, _, err := use(tool, `{"markdown":"# hi\n","formats":["html"]}`); err != nil {
		t.Error("HTML needs none:", err)
	}
	answer = errors.New("the user does not want it")
	text, _, err := use(tool, `{"markdown":"# hi\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, text, "Report saved in: report.html", "No PDF: the user does not want it")
	if _, _, err = use(tool, `{"markdown":"# hi\n","formats":["pdf"]}`); !errors.Is(err, answer) {
		t.Error(err)
	}
}
