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
	"sync"
	"unicode"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/chart"
	"github.com/openmanus-go/openmanus/data/insight"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

// draw draws one chart and writes its files. It also returns the text for the
// model.
func (v *visualization) draw(ctx context.Context, in visualizationInput, it item) (Drawn, string, error) {
	name, err := find(ctx, v.ws, it.Data)
	if err != nil {
		return Drawn{}, "", err
	}
	t, err := data.Read(ctx, v.files(in), name, data.Options{Table: it.Table})
	if err != nil {
		return Drawn{}, "", err
	}
	f, err := chart.Build(t, chart.Request{
		Kind: it.Chart, X: it.X, Y: it.Y, Series: it.Series, Aggregate: it.Aggregate, Bucket: it.Bucket,
		Sort: it.Sort, Top: it.Top, Log: it.Log,
		Title: it.Title, Subtitle: it.Subtitle, Note: it.Note, Lang: in.Language})
	if err != nil {
		return Drawn{}, "", err
	}
	if it.Insights == "auto" {
		f.Shown = mostTelling(f.Insights)
	}
	base, release, err := v.names.reserve(v.ws, f.Title)
	if err != nil {
		return Drawn{}, "", err
	}
	defer release()
	format := cmp.Or(in.OutputType, "html")
	d := Drawn{Title: f.Title, Kind: string(f.Kind), Spec: base + ".json", Chart: base + "." + format}
	if err := v.write(ctx, f, d.Spec, d.Chart); err != nil {
		return Drawn{}, "", err
	}
	if len(f.Insights) > 0 {
		d.Insights = base + ".md"
		text := "## " + f.Title + " Insights\n" + list(f.Insights)
		if err := v.ws.WriteFile(ctx, d.Insights, []byte(text)); err != nil {
			return Drawn{}, "", err
		}
	}
	return d, describeChart(f, d), nil
}

// mostTelling returns the ids of the first two insights that can be drawn.
func mostTelling(all []insight.Insight) (ids []int) {
	for _, i := range all {
		if len(i.Marks) > 0 && len(ids) < 2 {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// write writes the specification of a chart, and the chart in the format that
// the ending of file says.
func (v *visualization) write(ctx context.Context, f *chart.Figure, spec, file string) error {
	s, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("the chart %q: %w", f.Title, err)
	}
	var drawn []byte
	switch path.Ext(file) {
	case ".png":
		drawn, err = f.PNG(&v.fonts)
	case ".svg":
		drawn, err = f.SVG(&v.fonts)
	default:
		drawn, err = f.HTML(&v.fonts)
	}
	if err != nil {
		return err
	}
	if err := v.ws.WriteFile(ctx, spec, s); err != nil {
		return err
	}
	return v.ws.WriteFile(ctx, file, drawn)
}

// describeChart returns what the model reads about a chart.
func describeChart(f *chart.Figure, d Drawn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\nChart saved in: %s\n", f.Title, d.Chart)
	shape := string(f.Kind)
	if f.Stacked {
		shape = "stacked " + shape
	}
	values := 0
	for _, s := range f.Series {
		values += max(len(s.Y), 1)
	}
	fmt.Fprintf(&b, "(%s chart; x: %s; y: %s; %d series, %s values)\n", shape,
		cmp.Or(f.X.Name, "-"), cmp.Or(f.Y.Name, "-"), len(f.Series), data.FormatNumber(float64(values)))
	if len(f.Insights) > 0 {
		fmt.Fprintf(&b, "Insights (in %s):\n%s", d.Insights, list(f.Insights))
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&b, "Note: %s\n", n)
	}
	return b.String()
}

// list lists insights with their ids.
func list(all []insight.Insight) string {
	var b strings.Builder
	for _, i := range all {
		fmt.Fprintf(&b, "%d. %s\n", i.ID, i.Text)
	}
	return b.String()
}

// mark draws insights onto an existing chart, in all formats that it has.
func (v *visualization) mark(ctx context.Context, in visualizationInput, it item) (Drawn, string, error) {
	name, err := find(ctx, v.ws, it.ChartPath)
	if err != nil {
		return Drawn{}, "", err
	}
	base := strings.TrimSuffix(name, path.Ext(name))
	spec, err := fs.ReadFile(v.files(in), base+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return Drawn{}, "", fmt.Errorf("%s: its specification %s.json is missing; draw the chart again", name, base)
	}
	if err != nil {
		return Drawn{}, "", err
	}
	sight.Based(ctx, spec)
	f, err := chart.Parse(spec)
	if err != nil {
		return Drawn{}, "", fmt.Errorf("%s.json: %w", base, err)
	}
	if err := checkIDs(f, it.IDs); err != nil {
		return Drawn{}, "", err
	}
	f.Shown = it.IDs
	d := Drawn{Title: f.Title, Kind: string(f.Kind), Spec: base + ".json"}
	var files []string
	for _, ext := range []string{".html", ".png", ".svg"} {
		if _, err := fs.Stat(v.ws.FS(), base+ext); err == nil {
			files = append(files, base+ext)
		}
	}
	if len(files) == 0 {
		files = []string{base + "." + cmp.Or(in.OutputType, "html")}
	}
	for _, file := range files {
		if err := workspace.MayReplace(ctx, v.ws, file, nil); err != nil {
			return Drawn{}, "", err
		}
	}
	for _, file := range files {
		if err := v.write(ctx, f, d.Spec, file); err != nil {
			return Drawn{}, "", err
		}
		d.Chart = file
	}
	return d, d.Chart + "\n", nil
}

// checkIDs returns an error if the chart lacks an insight of ids.
func checkIDs(f *chart.Figure, ids []int) error {
	for _, id := range ids {
		if !slices.ContainsFunc(f.Insights, func(i insight.Insight) bool { return i.ID == id }) {
			return fmt.Errorf("the chart %q has no insight %d; it has:\n%s", f.Title, id, list(f.Insights))
		}
	}
	return nil
}

// names hands out unused file names, to charts that are drawn at the same time
// too.
type names struct {
	mu    sync.Mutex
	taken map[string]bool // reserved, perhaps without a file yet
}

// reserve returns a name for the files of a chart, without an ending. The name
// stays reserved until release is called.
func (n *names) reserve(ws workspace.Workspace, title string) (base string, release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	base = path.Join(folder, fileName(title))
	for tries := 0; n.taken[base] || exists(ws, base); tries++ {
		if tries == 1000 {
			return "", nil, fmt.Errorf("there already are a thousand charts named %q", title)
		}
		base += "_new"
		if len(base) > 200 { // most file systems allow 255 bytes
			base = path.Join(folder, fmt.Sprintf("%s_%d", fileName(title), tries+1))
		}
	}
	if n.taken == nil {
		n.taken = make(map[string]bool)
	}
	n.taken[base] = true
	return base, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.taken, base)
	}, nil
}

// exists reports whether a chart has a file of that name.
func exists(ws workspace.Workspace, base string) bool {
	for _, ext := range []string{".json", ".html", ".png", ".svg", ".md"} {
		if _, err := fs.Stat(ws.FS(), base+ext); err == nil {
			return true
		}
	}
	return false
}

// fileName makes a file name of a title, without characters that some file
// systems do not allow.
func fileName(title string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(title) {
		switch {
		case b.Len() > 120:
			r = -1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("-().,", r):
		case r == '%':
		default:
			r = '_'
		}
		if r >= 0 {
			b.WriteRune(r)
		}
	}
	if s := strings.Trim(b.String(), "_. "); s != "" {
		return s
	}
	return "chart"
}
