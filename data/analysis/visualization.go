package analysis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/workspace"
)

// folder is where charts are written.
const folder = "visualization"

// maxCharts is how many charts one call may draw, and maxAtOnce how many of
// them at the same time.
const (
	maxCharts = 100
	maxAtOnce = 4
)

// An item is one chart to draw, or to draw insights onto: the arguments of a
// call, or an element of the list in json_path.
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

	// The names that OpenManus uses in lists.
	CSVFilePath string `json:"csvFilePath"`
	ChartTitle  string `json:"chartTitle"`
	ListedPath  string `json:"chartPath"`
}

// visualizationInput is the arguments of data_visualization. They may be one
// chart themselves, or name a list of charts in JSONPath.
type visualizationInput struct {
	item
	ToolType   string `json:"tool_type"`
	OutputType string `json:"output_type"`
	Language   string `json:"language"`
	JSONPath   string `json:"json_path"`
}

// A Drawn is a chart that was drawn, or the error that prevented it. The Detail
// of a result of data_visualization is a []Drawn.
type Drawn struct {
	Title    string `json:"title"`
	Kind     string `json:"kind,omitempty"`
	Chart    string `json:"chart,omitempty"` // this file and the next two are relative to the workspace
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

// NewVisualization returns the tool data_visualization, which reads and writes
// files of ws. The Detail of its results is a []Drawn; a profile has none.
func NewVisualization(ws workspace.Workspace) openmanus.Tool { return &visualization{ws: ws} }

// Spec implements [openmanus.Tool].
func (v *visualization) Spec() openmanus.ToolSpec {
	return specOf("data_visualization", openmanus.Hints{Edits: true},
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

// ArgumentsOf implements [openmanus.ArgumentHinter]: insights are drawn onto the charts that
// the list names, too.
func (v *visualization) ArgumentsOf(call openmanus.Call) []openmanus.Argument {
	list := v.Spec().Arguments
	var in visualizationInput
	if json.Unmarshal([]byte(call.Input), &in) != nil || in.ToolType != "insight" || in.JSONPath == "" {
		return list
	}
	items, err := v.items(context.Background(), in)
	if err != nil {
		return list // and nothing is drawn
	}
	for _, it := range items {
		list = append(list, openmanus.Argument{Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: it.ChartPath})
	}
	return list
}

// Run implements [openmanus.Tool]. Charts that fail do not keep others from
// being drawn: the result has those, and the error names the failures.
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
	g.SetLimit(maxAtOnce)
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
	res, err := assemble(in, made, texts)
	if in.JSONPath != "" {
		res.Sources = v.sources(ctx, in, items)
	}
	return res, err
}

// sources returns the labels of the list of charts and of the files that it names,
// which the arguments of the call do not.
func (v *visualization) sources(ctx context.Context, in visualizationInput, items []item) []openmanus.Source {
	var all []openmanus.Source
	for _, p := range append([]string{in.JSONPath}, filesOf(items)...) {
		if name, err := find(ctx, v.ws, p); err == nil {
			all = append(all, openmanus.FileSource(name))
		}
	}
	return all
}

// filesOf returns the files that charts are drawn from, each once.
func filesOf(items []item) []string {
	var files []string
	for _, it := range items {
		if p := cmp.Or(it.Data, it.ChartPath); !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	return files
}

// assemble returns the result of a call, with the headings of OpenManus.
func assemble(in visualizationInput, made []Drawn, texts []string) (openmanus.Result, error) {
	var good, bad strings.Builder
	for i, d := range made {
		if d.Error != "" {
			fmt.Fprintf(&bad, "## %s\n%s\n", d.Title, d.Error)
		} else {
			good.WriteString(texts[i])
		}
	}
	head := "Charts Generated Successfully!\n"
	if len(made) == 1 {
		head = "Chart Generated Successfully!\n"
	}
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

// items returns the charts to draw: the list in json_path, or the arguments
// themselves.
func (v *visualization) items(ctx context.Context, in visualizationInput) ([]item, error) {
	if in.JSONPath == "" {
		it := in.item
		it.normalize()
		if it.Data == "" && in.ToolType != "insight" || it.ChartPath == "" && in.ToolType == "insight" {
			return nil, errors.New("nothing to draw: give data (a file) or json_path (a list of charts); " +
				"with tool_type insight, chart_path or json_path")
		}
		return []item{it}, nil
	}
	name, err := find(ctx, v.ws, in.JSONPath)
	if err != nil {
		return nil, err
	}
	list, err := fs.ReadFile(v.ws.FS(), name)
	if err != nil {
		return nil, err
	}
	var items []item
	if err := json.Unmarshal(list, &items); err != nil {
		const form = `[{"csvFilePath": …, "chartTitle": …}, …]`
		return nil, fmt.Errorf("%s is not a list of charts, %s: %w", name, form, err)
	}
	if len(items) == 0 || len(items) > maxCharts {
		return nil, fmt.Errorf("%s has %d charts; from 1 to %d can be drawn at once", name, len(items), maxCharts)
	}
	for i := range items {
		items[i].normalize()
	}
	return items, nil
}

// files returns the file system that has the data of the charts: a file that
// the call itself does not name may be left out of it.
func (v *visualization) files(in visualizationInput) fs.FS {
	if in.JSONPath != "" {
		return workspace.Unnamed(v.ws.FS())
	}
	return v.ws.FS()
}

// normalize replaces OpenManus' names by ours.
func (it *item) normalize() {
	it.Data = cmp.Or(it.Data, it.CSVFilePath)
	it.Title = cmp.Or(it.Title, it.ChartTitle)
	it.ChartPath = cmp.Or(it.ChartPath, it.ListedPath)
	if it.Title == "" && it.ChartPath != "" {
		it.Title = path.Base(it.ChartPath)
	}
}

// find returns the name of the file that p means, relative to the workspace or
// to the folder of charts.
func find(ctx context.Context, ws workspace.Workspace, p string) (string, error) {
	name, err := workspace.NameIn(ctx, ws.Dir(), p)
	if err != nil {
		return "", err
	}
	for _, n := range []string{name, path.Join(folder, name)} {
		if info, err := fs.Stat(ws.FS(), n); err == nil && !info.IsDir() {
			return n, nil
		}
	}
	//lint:ignore ST1005 OpenManus returns this text
	return "", fmt.Errorf("No such file or directory: %s", p)
}
