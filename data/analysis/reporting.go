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

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/data/report"
	"github.com/openmanus-go/openmanus/workspace"
)

// reportInput is the arguments of data_report, as its schema describes them.
type reportInput struct {
	Markdown string   `json:"markdown"`
	Path     string   `json:"path"`
	Output   string   `json:"output"`
	Formats  []string `json:"formats"`
	Title    string   `json:"title"`
	Language string   `json:"language"`
}

// A Report is the Detail of a result of data_report.
type Report struct {
	Files []string `json:"files"`           // relative to the workspace
	Shown int      `json:"shown"`           // how many charts, tables and pictures it has
	Notes []string `json:"notes,omitempty"` // what could not be shown, and why
}

// NewReport returns the tool data_report, which reads and writes files of ws.
// It prints PDFs with a Chromium that ws can run. Without one it calls install, if
// that is not nil, with the call: after nil it tries again, and an [openmanus.Ask] is
// put to the user. Without a Chromium it makes only the HTML, and the result says so.
func NewReport(ws workspace.Workspace, install func(context.Context, openmanus.Call) error) openmanus.Tool {
	return reporter{ws: ws, Tool: openmanus.Func(
		specOf("data_report", openmanus.Hints{Edits: true, Idempotent: true},
			openmanus.Argument{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Reads},
			openmanus.Argument{Name: "output", Kind: openmanus.PathArgument, Does: openmanus.Writes, Value: "report"}),
		func(ctx context.Context, call openmanus.Call, in reportInput) (openmanus.Result, error) {
			print := func(page []byte, name string) error {
				err := report.PDF(ctx, ws, page, name)
				if install == nil || !errors.Is(err, report.ErrNoChromium) {
					return err
				}
				if no := install(ctx, call); no != nil {
					return &noChromium{no}
				}
				return report.PDF(ctx, ws, page, name)
			}
			return makeReport(ctx, ws, in, print)
		})}
}

// A reporter is the tool data_report.
type reporter struct {
	openmanus.Tool
	ws workspace.Workspace
}

// Preview implements [openmanus.Previewer]. Nobody is asked about a report that would
// replace what the session has not seen.
func (r reporter) Preview(ctx context.Context, call openmanus.Call) (string, error) {
	var in reportInput
	if json.Unmarshal([]byte(call.Input), &in) != nil {
		return "", nil
	}
	base, err := in.base(r.ws.Dir())
	if err != nil {
		return "", err
	}
	return "", in.mayWrite(ctx, r.ws, base)
}

// base returns the name of the files of the report without their endings.
func (in reportInput) base(dir string) (string, error) {
	output := cmp.Or(in.Output, "report")
	return workspace.Name(dir, strings.TrimSuffix(strings.TrimSuffix(output, ".html"), ".pdf"))
}

// wants reports whether the report is made in a format.
func (in reportInput) wants(format string) bool {
	return len(in.Formats) == 0 || slices.Contains(in.Formats, format)
}

// mayWrite returns the error with which a file of the report would not be written, before
// any of them is.
func (in reportInput) mayWrite(ctx context.Context, ws workspace.Workspace, base string) error {
	for _, format := range []string{"html", "pdf"} {
		if in.wants(format) {
			if err := workspace.MayReplace(ctx, ws, base+"."+format, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// A noChromium is a [report.ErrNoChromium] that says why none was installed.
type noChromium struct{ error }

func (e *noChromium) Unwrap() []error { return []error{e.error, report.ErrNoChromium} }

// makeReport writes the report, and its PDF with print. That there is no Chromium is
// an error only if the PDF is all that was asked for, or if the user is to be asked.
func makeReport(
	ctx context.Context, ws workspace.Workspace, in reportInput, print func(page []byte, name string) error,
) (openmanus.Result, error) {
	var none openmanus.Result
	text, dir, err := source(ctx, ws, in)
	if err != nil {
		return none, err
	}
	base, err := in.base(ws.Dir())
	if err == nil {
		err = in.mayWrite(ctx, ws, base)
	}
	if err != nil {
		return none, err
	}
	options := report.Options{Title: in.Title, Lang: in.Language, Name: namer(ctx, ws, dir)}
	page, err := report.Make(ctx, workspace.Unnamed(ws.FS()), text, options)
	if err != nil {
		return none, err
	}
	d := Report{Shown: page.Shown, Notes: page.Notes}
	var noPDF error
	if in.wants("pdf") { // which may ask the user: then nothing is written yet
		noPDF = print(page.Print, base+".pdf")
	}
	if ask := (*openmanus.Ask)(nil); errors.As(noPDF, &ask) {
		return none, ask
	}
	if in.wants("html") {
		if err := ws.WriteFile(ctx, base+".html", page.HTML); err != nil {
			return none, err
		}
		d.Files = append(d.Files, base+".html")
	}
	if in.wants("pdf") && noPDF == nil {
		d.Files = append(d.Files, base+".pdf")
	}
	tolerable := ctx.Err() == nil && errors.Is(noPDF, report.ErrNoChromium) && len(d.Files) > 0
	var b strings.Builder
	for _, f := range d.Files {
		fmt.Fprintf(&b, "Report saved in: %s\n", f)
	}
	fmt.Fprintf(&b, "(%d charts, tables and pictures in it)\n", page.Shown)
	for _, n := range page.Notes {
		fmt.Fprintf(&b, "Not shown: %s\n", n)
	}
	if tolerable {
		fmt.Fprintf(&b, "No PDF: %v\n", noPDF)
	}
	res := openmanus.TextResult("%s", b.String())
	res.Detail = d
	if noPDF != nil && !tolerable {
		return res, fmt.Errorf("no PDF: %w", noPDF)
	}
	return res, nil
}

// source returns the Markdown, and the directory to which its addresses are
// relative.
func source(ctx context.Context, ws workspace.Workspace, in reportInput) (text []byte, dir string, err error) {
	switch {
	case in.Markdown != "" && in.Path != "":
		return nil, "", errors.New("give markdown or path, not both")
	case in.Path == "":
		return []byte(in.Markdown), ".", nil
	}
	name, err := workspace.NameIn(ctx, ws.Dir(), in.Path)
	if err != nil {
		return nil, "", err
	}
	text, err = fs.ReadFile(ws.FS(), name)
	return text, path.Dir(name), err
}

// namer returns a function that finds the file an address means: relative to
// dir, to the workspace, or to the folder of charts.
func namer(ctx context.Context, ws workspace.Workspace, dir string) func(string) (string, error) {
	return func(address string) (string, error) {
		if dir != "." && !strings.HasPrefix(address, "/") {
			if name, err := find(ctx, ws, path.Join(dir, address)); err == nil {
				return name, nil
			}
		}
		return find(ctx, ws, address)
	}
}
