package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/workspace"
)

const visualizationDescription = `
Draw charts of data, say by calculation what is to be seen in it, or describe a table. Reads CSV, TSV, JSON, Parquet, XLSX and SQLite files of the workspace.
- tool_type "profile": the columns of a file with their types, ranges and missing values, and its first rows. Begin with it.
- tool_type "visualization" (default): a chart of data, or one for each item of the list in json_path, [{"csvFilePath": "a.csv", "chartTitle": "…"}, …]; an item may have the parameters below too. What is left out (chart, x, y, series) is chosen from the data and the words of the title. Writes the chart, its specification (.json) and its insights (.md) into the folder visualization, and never over a file that is there.
- tool_type "insight": draws insights onto a chart: chart_path and insights_id, or a list in json_path, [{"chartPath": "…", "insights_id": [1, 3]}, …]. The chart is written anew.
The result has the paths, the insights with their ids, numbers and p-values, and what was left out or decided.
Examples:
{"tool_type":"profile","data":"sales.xlsx"}
{"data":"sales.csv","title":"Revenue by month","x":"date","y":["revenue"],"bucket":"month","insights":"auto","output_type":"png"}
{"data":"sales.csv","chart":"stacked bar","x":"region","y":["revenue"],"series":"product","title":"Revenue by region"}`

const visualizationSchema = `{
	"type": "object",
	"properties": {
		"tool_type": {"type": "string", "enum": ["visualization", "insight", "profile"], "description": "visualization (the default), insight or profile."},
		"output_type": {"type": "string", "enum": ["html", "png", "svg"], "description": "html (the default; one can point at it and zoom), png or svg."},
		"language": {"type": "string", "enum": ["en", "zh"], "description": "Of the insights; en if not given."},
		"json_path": {"type": "string", "description": "A JSON file with a list of charts, or of charts to mark."},
		"data": {"type": "string", "description": "The file with the data, instead of json_path."},
		"table": {"type": "string", "description": "The sheet of a workbook or the table of a database; the first if not given."},
		"title": {"type": "string", "description": "What the chart says, in words."},
		"subtitle": {"type": "string"},
		"chart": {"type": "string", "enum": ["auto", "bar", "stacked bar", "line", "area", "stacked area", "scatter", "histogram", "box", "pie", "heatmap", "dual"], "description": "dual has bars, and a line on an axis of its own."},
		"x": {"type": "string", "description": "The column along the horizontal axis (of a histogram: the values; of boxes: the groups)."},
		"y": {"type": "array", "items": {"type": "string"}, "description": "The columns of values; none counts rows."},
		"series": {"type": "string", "description": "The column whose values each get a colour; in a heat map, a row."},
		"aggregate": {"type": "string", "enum": ["sum", "mean", "median", "min", "max", "count"], "description": "How rows at the same place are put together."},
		"bucket": {"type": "string", "enum": ["hour", "day", "week", "month", "quarter", "year"], "description": "Put times together."},
		"sort": {"type": "string", "enum": ["value", "name", "none"], "description": "The order of categories."},
		"top": {"type": "integer", "minimum": 1, "maximum": 400, "description": "Show so many categories."},
		"log": {"type": "boolean", "description": "A logarithmic axis of values."},
		"note": {"type": "string", "description": "A line below the chart, such as the source of the data."},
		"insights": {"type": "string", "enum": ["none", "auto"], "description": "auto draws the two most telling insights onto the chart."},
		"chart_path": {"type": "string", "description": "With insight: the chart."},
		"insights_id": {"type": "array", "items": {"type": "integer"}, "description": "With insight: which ones, by their ids; none takes the marks away."}
	},
	"additionalProperties": false
}`

// folder is where charts are written.
const folder = "visualization"

type item struct {
	Data      string   `json:"data"`
	Table     string   `json:"table"`
	Title     string   `json:"title"`
	Subtitle  string   `json:"subtitle"`
	Chart     string   `json:"chart"`
	X         string   `json:"x"`
	Y         []string `json:"y"`
	Series    string   `json:"series"`
	Aggregate string   `json:"aggregate"`
	Bucket    string   `json:"bucket"`
	Sort      string   `json:"sort"`
	Top       int      `json:"top"`
	Log       bool     `json:"log"`
	Note      string   `json:"note"`
	Insights  string   `json:"insights"`

	ChartPath string `json:"chart_path"`
	IDs       []int  `json:"insights_id"`

	// The names in OpenManus' lists.
	CSVFilePath string `json:"csvFilePath"`
	ChartTitle  string `json:"chartTitle"`
	ListedPath  string `json:"chartPath"`
}

type visualizationInput struct {
	item
	ToolType   string `json:"tool_type"`
	OutputType string `json:"output_type"`
	Language   string `json:"language"`
	JSONPath   string `json:"json_path"`
}

// A Drawn is a chart that was made: the Detail of a result of
// data_visualization is a list of them.
type Drawn struct {
	Title    string `json:"title"`
	Kind     string `json:"kind,omitempty"`
	Chart    string `json:"chart,omitempty"` // the files, relative to the workspace
	Spec     string `json:"spec,omitempty"`
	Insights string `json:"insights,omitempty"`
	Error    string `json:"error,omitempty"`
}

// visualization is the tool data_visualization.
type visualization struct {
	ws    workspace.Workspace
	fonts chart.Fonts
	names names
}

// NewVisualization returns the tool data_visualization for ws. The Detail of
// its results is a []Drawn, or for a profile nothing.
func NewVisualization(ws workspace.Workspace) openmanus.Tool { return &visualization{ws: ws} }

// Spec implements [openmanus.Tool].
func (v *visualization) Spec() openmanus.ToolSpec {
	return toolspec.New("data_visualization", visualizationDescription, visualizationSchema, openmanus.Hints{Edits: true},
		openmanus.Argument{Name: "json_path", Kind: openmanus.PathArgument, Does: openmanus.Reads},
		openmanus.Argument{Name: "data", Kind: openmanus.PathArgument, Does: openmanus.Reads},
		openmanus.Argument{Name: "chart_path", Kind: openmanus.PathArgument, Does: openmanus.Writes},
		openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: folder})
}

// Hints implements [openmanus.CallHinter]: a profile changes nothing.
func (v *visualization) Hints(call openmanus.Call) openmanus.Hints {
	var in visualizationInput
	if json.Unmarshal([]byte(call.Input), &in) == nil && in.ToolType == "profile" {
		return openmanus.Hints{ReadOnly: true, Idempotent: true}
	}
	return v.Spec().Hints
}

// Run implements [openmanus.Tool].
func (v *visualization) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var in visualizationInput
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return openmanus.Result{}, fmt.Errorf("arguments: %w", err)
	}
	if in.ToolType == "profile" {
		return v.profile(ctx, in.item)
	}
	items, err := v.items(ctx, in)
	if err != nil {
		return openmanus.Result{}, err
	}
	do := v.draw
	if in.ToolType == "insight" {
		do = v.mark
	}
	made, texts := make([]Drawn, len(items)), make([]string, len(items))
	g := errgroup.Group{}
	g.SetLimit(4)
	for i, it := range items {
		g.Go(func() error {
			var err error
			if made[i], texts[i], err = do(ctx, in, it); err != nil {
				made[i].Title, made[i].Error = it.Title, err.Error()
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return openmanus.Result{}, err
	}
	return assemble(in, made, texts)
}

// assemble puts what came of the items together, in the words of OpenManus.
func assemble(in visualizationInput, made []Drawn, texts []string) (openmanus.Result, error) {
	var good, bad strings.Builder
	for i, d := range made {
		if d.Error != "" {
			fmt.Fprintf(&bad, "## %s\n%s\n", d.Title, d.Error)
		} else {
			good.WriteString(texts[i])
		}
	}
	head := "Chart Generated Successful!\n"
	if in.ToolType == "insight" {
		head = "# Charts Update with Insights\n"
	}
	res := openmanus.Result{Detail: made}
	if good.Len() > 0 {
		res.Parts = openmanus.TextResult("%s", head+good.String()).Parts
	}
	if bad.Len() > 0 {
		return res, errors.New("# Error chart generated\n" + strings.TrimSpace(bad.String()))
	}
	return res, nil
}

// items are the charts to make: those of the list, or the one that the
// arguments are.
func (v *visualization) items(ctx context.Context, in visualizationInput) ([]item, error) {
	if in.JSONPath == "" {
		it := in.item
		it.normal()
		if it.Data == "" && in.ToolType != "insight" || it.ChartPath == "" && in.ToolType == "insight" {
			return nil, errors.New("nothing to draw: give data (a file) or json_path (a list of charts); with tool_type insight, chart_path or json_path")
		}
		return []item{it}, nil
	}
	name, err := v.find(in.JSONPath)
	if err != nil {
		return nil, err
	}
	list, err := fs.ReadFile(v.ws.FS(), name)
	if err != nil {
		return nil, err
	}
	var items []item
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("%s is not a list of charts, [{\"csvFilePath\": …, \"chartTitle\": …}, …]: %w", name, err)
	}
	const most = 100
	if len(items) == 0 || len(items) > most {
		return nil, fmt.Errorf("%s has %d charts; from 1 to %d are drawn at once", name, len(items), most)
	}
	for i := range items {
		items[i].normal()
	}
	return items, nil
}

// normal takes OpenManus' names for ours.
func (it *item) normal() {
	if it.Data == "" {
		it.Data = it.CSVFilePath
	}
	if it.Title == "" {
		it.Title = it.ChartTitle
	}
	if it.ChartPath == "" {
		it.ChartPath = it.ListedPath
	}
	if it.Title == "" && it.ChartPath != "" {
		it.Title = path.Base(it.ChartPath)
	}
}

// find is the name of the file that p means: as it is, or in the folder of
// charts.
func (v *visualization) find(p string) (string, error) { return find(v.ws, p) }

func find(ws workspace.Workspace, p string) (string, error) {
	name, err := workspace.Name(ws.Dir(), p)
	if err != nil {
		return "", err
	}
	for _, n := range []string{name, path.Join(folder, name)} {
		if info, err := fs.Stat(ws.FS(), n); err == nil && !info.IsDir() {
			return n, nil
		}
	}
	//lint:ignore ST1005 the words of OpenManus
	return "", fmt.Errorf("No such file or directory: %s", p)
}
