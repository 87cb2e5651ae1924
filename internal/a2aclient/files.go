package a2aclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/openmanus-go/openmanus"
	wire "github.com/openmanus-go/openmanus/internal/a2awire"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/protected"
)

// The limits of the files of a task.
const (
	maxFiles = 200
	maxFile  = 32 << 20  // bytes of one
	maxSaved = 256 << 20 // bytes of all
)

// A file is one that an agent has made.
type file struct {
	name string // safe
	part wire.Part
}

// content returns the text of parts, and the files among them. Structured data counts as
// text.
func content(parts []wire.Part) (text string, files []file) {
	var texts []string
	for _, p := range parts {
		switch {
		case p.Text != nil && p.Filename == "":
			texts = append(texts, *p.Text)
		case p.Text != nil || p.Raw != nil || p.URL != "":
			files = append(files, file{safeName(p), p})
		case len(p.Data) > 0:
			var b bytes.Buffer
			if json.Indent(&b, p.Data, "", "  ") == nil {
				texts = append(texts, b.String())
			}
		}
	}
	return clip.Clean(strings.TrimSpace(strings.Join(texts, "\n"))), files
}

// contentOf returns what a task says: what its artifacts have, or else what its status
// or the agent's last message says. While the agent waits for us, that is its question.
func contentOf(t *wire.Task) (text string, files []file) {
	status := ""
	if t.Status.Message != nil {
		status, _ = content(t.Status.Message.Parts)
	}
	var texts []string
	for _, a := range t.Artifacts {
		s, more := content(a.Parts)
		if files = append(files, more...); s != "" {
			texts = append(texts, s)
		}
	}
	files = files[:min(len(files), maxFiles)]
	text = strings.Join(texts, "\n\n")
	if t.Status.State != wire.Completed {
		return cmp.Or(status, text), files
	}
	for i := len(t.History) - 1; i >= 0 && text == "" && status == ""; i-- {
		if t.History[i].Role == wire.RoleAgent {
			status, _ = content(t.History[i].Parts)
		}
	}
	return cmp.Or(text, status), files
}

// safeName returns the name under which a file is saved: one name, without what shells,
// file systems and people stumble over.
func safeName(p wire.Part) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._- ()", r) {
			return r
		}
		return '_'
	}, path.Base(strings.ReplaceAll(clip.Clean(p.Filename), `\`, "/")))
	name = strings.TrimRight(strings.TrimLeft(name, ". -"), ". ")
	if ext := path.Ext(name); len(name) > 120 {
		if len(ext) > 20 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:100], "") + ext
	}
	if name == "" || name == "_" {
		ext := ""
		if all, err := mime.ExtensionsByType(p.MediaType); err == nil && len(all) > 0 {
			ext = all[0]
		}
		name = "file" + ext
	}
	if protected.Is(name) {
		name = "agent-" + name + ".txt"
	}
	return name
}

// filesOf returns the directory for the files of an agent.
func filesOf(name string) string { return path.Join("a2a", name) }

// save saves the files of the task. A file that is there already with this content is
// not written again.
func (t tools) save(ctx context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
	was := last(call)
	a, err := t.agent(ctx)
	if err != nil {
		return openmanus.Result{}, err
	}
	task, err := a.Get(ctx, was.Task)
	if err != nil {
		return openmanus.Result{}, err
	}
	_, files := contentOf(task)
	st := was
	st.Waiting, st.Files = 0, nil
	total := 0
	for _, f := range files {
		data, err := a.bytesOf(ctx, f.part)
		if err != nil {
			return openmanus.Result{}, fmt.Errorf("the file %s: %w", f.name, err)
		}
		if total += len(data); total > maxSaved {
			return openmanus.Result{}, fmt.Errorf("the files have more than %d MiB: those from %s on are not saved", maxSaved>>20, f.name)
		}
		name, err := t.place(f.name, data, st.Files)
		if err != nil {
			return openmanus.Result{}, err
		}
		if name.there {
			st.Files = append(st.Files, name.path)
			continue
		}
		if err := t.ws.WriteFile(ctx, name.path, data); err != nil {
			return openmanus.Result{}, err
		}
		st.Files = append(st.Files, name.path)
	}
	return t.result(st), nil
}

// A spot is where a file goes, or is already.
type spot struct {
	path  string
	there bool
}

// place returns where a file goes: under its name, or, if another file has it, one with a
// number.
func (t tools) place(name string, data []byte, taken []string) (spot, error) {
	ext := path.Ext(name)
	for n := 1; n <= 1000; n++ {
		p := path.Join(filesOf(t.c.o.Name), name)
		if n > 1 {
			p = path.Join(filesOf(t.c.o.Name), fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext))
		}
		if slices.Contains(taken, p) {
			continue
		}
		old, err := fs.ReadFile(t.ws.FS(), p)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(old, data) {
			return spot{p, err == nil}, nil
		}
	}
	return spot{}, fmt.Errorf("there are 1000 files called %s", name)
}

// bytesOf returns the content of a file, which is in the part or at an address. The token
// is not sent to another host.
func (a *Agent) bytesOf(ctx context.Context, p wire.Part) ([]byte, error) {
	switch {
	case p.Text != nil:
		return []byte(*p.Text), nil
	case p.Raw != nil:
		return p.Raw, nil
	}
	u, err := a.where.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("its address is none that can be read")
	}
	req, err := http.NewRequestWithContext(ctx, "GET", u.String(), nil)
	if err != nil {
		return nil, err
	}
	token := ""
	if u.Host == a.where.Host && u.Scheme == a.where.Scheme {
		token = a.o.Token
	}
	resp, err := a.do(req, token)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers with status %d", resp.StatusCode)
	}
	return read(resp.Body, maxFile)
}
