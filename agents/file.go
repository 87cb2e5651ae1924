package agents

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
)

// A File is an agent that a user has defined: in Markdown, where the front matter
// has its properties and the text is its instructions, or in TOML, where the key
// instructions has these.
type File struct {
	Path string
	From string // where it was found: "workspace" or "user"

	Name        string
	Description string   // "": the file has none
	Model       string   // PROVIDER/NAME or a profile; "": the session's
	Tools       []string // names; nil: the tools of the general agent
	Agents      []string // the agents to which it may delegate
	Approve     string   // an approval mode, as of openmanus.Mode; "": the session's
	Limits      openmanus.Limits
	Text        string // the instructions
}

// front is the front matter of a [File].
type front struct {
	Name        string   `yaml:"name" toml:"name"`
	Description string   `yaml:"description" toml:"description"`
	Model       string   `yaml:"model" toml:"model"`
	Tools       words    `yaml:"tools" toml:"-"`
	Agents      words    `yaml:"agents" toml:"-"`
	Approve     string   `yaml:"approve" toml:"approve"`
	MaxSteps    int      `yaml:"max_steps" toml:"max_steps"`
	Tokens      int      `yaml:"budget_tokens" toml:"budget_tokens"`
	MaxCost     float64  `yaml:"max_cost" toml:"max_cost"`
	Timeout     duration `yaml:"timeout" toml:"-"`
}

// readTOML decodes a file in TOML, whose keys are those of a front matter and
// instructions, and returns the latter. Any other key is an error.
func readTOML(data []byte, f *front) (text string, err error) {
	if len(data) > MaxFile {
		return "", fmt.Errorf("the file has %d bytes, more than %d", len(data), MaxFile)
	}
	var in struct {
		front
		Tools        any    `toml:"tools"`
		Agents       any    `toml:"agents"`
		Timeout      string `toml:"timeout"`
		Instructions string `toml:"instructions"`
	}
	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&in)
	if strict := (*toml.StrictMissingError)(nil); errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return "", fmt.Errorf("line %d: an agent has no key %q: the keys are those of a front matter, and instructions",
			row, strings.Join(strict.Errors[0].Key(), "."))
	}
	if err != nil {
		return "", err
	}
	*f = in.front
	for _, list := range []struct {
		key  string
		from any
		to   *words
	}{{"tools", in.Tools, &f.Tools}, {"agents", in.Agents, &f.Agents}} {
		switch v := list.from.(type) {
		case nil:
		case string:
			*list.to = split(v)
		case []any:
			for _, e := range v {
				s, ok := e.(string)
				if !ok {
					return "", fmt.Errorf("%s: %v is not a name", list.key, e)
				}
				*list.to = append(*list.to, s)
			}
		default:
			return "", fmt.Errorf("%s: it must be a list of names", list.key)
		}
	}
	if in.Timeout != "" {
		v, err := time.ParseDuration(in.Timeout)
		if err != nil || v <= 0 {
			return "", fmt.Errorf("timeout: %q is not a duration such as 90s or 1h", in.Timeout)
		}
		f.Timeout = duration(v)
	}
	return in.Instructions, nil
}

// words is a list of strings, or one string of words separated by commas or
// spaces.
type words []string

// UnmarshalYAML implements [yaml.Unmarshaler]. The words are a list, or one text in which
// commas or blanks separate them.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return n.Decode((*[]string)(w))
	}
	*w = split(n.Value)
	return nil
}

// split returns the words of a text, which are separated by commas or spaces.
func split(text string) words {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// A duration is written as for [time.ParseDuration], and positive.
type duration time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler] for durations in the form of
// [time.ParseDuration], which must be positive.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: %q is not a duration such as 90s or 1h", n.Line, n.Value)
	}
	*d = duration(v)
	return nil
}

// fileName matches the names that agents and skills may have.
var fileName = regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`)

// MaxFile is the most bytes of a file with instructions.
const MaxFile = 256 << 10

// ParseFile parses an agent's file: TOML if the name ends in .toml, else Markdown.
// The agent's name is the one in the file, or else the name of the file without its
// ending. ParseFile does not set From.
func ParseFile(name string, data []byte) (*File, error) {
	var f front
	var text string
	var err error
	if path.Ext(name) == ".toml" {
		text, err = readTOML(data, &f)
	} else {
		text, err = cutFront(data, &f)
	}
	if err != nil {
		return nil, err
	}
	f.Name = cmp.Or(f.Name, strings.TrimSuffix(path.Base(name), path.Ext(name)))
	switch {
	case !fileName.MatchString(f.Name) || len(f.Name) > 64:
		return nil, fmt.Errorf("the name %q must consist of lower-case letters and digits, in words joined by - or _", f.Name)
	case strings.TrimSpace(text) == "":
		return nil, errors.New("it has no instructions: write them below the front matter, or in TOML as instructions = \"…\"")
	case !slices.Contains(modes, f.Approve):
		return nil, fmt.Errorf("approve: %q is not one of ask, edits, all, readonly", f.Approve)
	case f.MaxSteps < 0 || f.Tokens < 0 || f.MaxCost < 0:
		return nil, errors.New("a limit cannot be negative: leave it out to use the session's")
	}
	return &File{
		Path: name, Name: f.Name, Description: foreignLine(f.Description),
		Model: f.Model, Tools: f.Tools, Agents: f.Agents, Approve: f.Approve,
		Limits: openmanus.Limits{
			Steps: f.MaxSteps, Tokens: f.Tokens,
			Money: openmanus.Money(f.MaxCost * float64(openmanus.Dollar)), Time: time.Duration(f.Timeout),
		},
		Text: strings.TrimSpace(text),
	}, nil
}

// modes are the values of approve.
var modes = []string{
	"", openmanus.ApproveReadOnly, openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveAll,
}

// cutFront decodes the front matter of a file, if it has one, into v, and returns
// the text after it.
func cutFront(data []byte, v any) (string, error) {
	if len(data) > MaxFile {
		return "", fmt.Errorf("the file has %d bytes, more than %d", len(data), MaxFile)
	}
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return string(data), nil
	}
	head, text, ok := bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		if head, ok = bytes.CutSuffix(bytes.TrimRight(rest, "\n"), []byte("\n---")); !ok {
			return "", errors.New("the front matter has no closing line ---")
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(head))
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("front matter: %w", err)
	}
	return string(text), nil
}

// Files reads the agents in the directory agents of dir. It returns a problem
// for each file that it cannot use, beside the agents of the other files.
func Files(dir fs.FS, from string) (files []*File, problems []error) {
	entries, err := fs.ReadDir(dir, "agents")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{err}
	}
	for _, e := range entries {
		name := path.Join("agents", e.Name())
		switch ext := strings.ToLower(path.Ext(name)); {
		case e.IsDir(), strings.EqualFold(e.Name(), "README.md"):
			continue
		case ext == ".md", ext == ".toml":
		case from == "user" && !strings.HasPrefix(e.Name(), "."), slices.Contains(otherKinds, ext):
			problems = append(problems, fmt.Errorf("%s: it is not read: agents are files in Markdown (.md) or TOML (.toml)", name))
			continue
		default:
			continue // a folder of this name in a workspace may have anything in it
		}
		data, err := readFile(dir, name)
		if err == nil {
			var f *File
			if f, err = ParseFile(name, data); err == nil {
				f.From = from
				files = append(files, f)
				continue
			}
		}
		problems = append(problems, fmt.Errorf("%s: %w", name, err))
	}
	return files, problems
}

// otherKinds are files that other programs define agents in.
var otherKinds = []string{".yaml", ".yml", ".json", ".markdown"}

// readFile reads a file, up to more than MaxFile bytes, which cutFront refuses.
func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Kind returns the kind of the agent. Without a list of tools it has those of manus, and
// offers the rare ones on demand. A tool in the list that does not exist is an error when
// the agent is made, not here, because only then the tools of MCP servers are known.
func (f *File) Kind() Kind {
	about := cmp.Or(f.Description, "An agent of your own.")
	var few []Rare
	if len(f.Tools) == 0 {
		few = rare
	}
	return Kind{Name: f.Name, Description: about, File: f, Rare: few, Make: func(o Options) (*openmanus.Agent, io.Closer, error) {
		all := append(general(o), o.Extra...)
		ts := all
		if len(f.Tools) > 0 {
			var err error
			if ts, err = f.choose(all); err != nil {
				return nil, nil, err
			}
		}
		o.Extra = nil
		return o.agent(f.Name, about, f.Text, ts)
	}}
}

// Replaces returns the built-in kind k with what the file says in its place: the
// instructions, and the description and the tools if it has any. Everything else
// stays: how the agent is used, and the form of its answer.
func (f *File) Replaces(k Kind) Kind {
	was := k
	k.File, k.Description = f, cmp.Or(f.Description, k.Description)
	if len(f.Tools) > 0 {
		k.Rare = nil
	}
	k.Make = func(o Options) (*openmanus.Agent, io.Closer, error) {
		a, closes, err := was.Make(o)
		if err != nil {
			return nil, nil, err
		}
		a.Description, a.Instructions = k.Description, withForm(f.Text, a.Tools)
		if len(f.Tools) == 0 {
			return a, closes, nil
		}
		more := closer(general(o))
		closes = closers{closes, more}
		for _, t := range more {
			if a.Tool(t.Spec().Name) == nil {
				a.Tools = append(a.Tools, t)
			}
		}
		if a.Tools, err = f.choose(a.Tools); err != nil {
			return nil, nil, errors.Join(err, closes.Close())
		}
		return a, closes, nil
	}
	return k
}

// closers close all of them.
type closers []io.Closer

func (cs closers) Close() error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// choose returns those of the tools that the file names, and the ones that every
// agent needs. delegate and skill may be named too; they are added elsewhere.
func (f *File) choose(all []openmanus.Tool) ([]openmanus.Tool, error) {
	var ts []openmanus.Tool
	var names []string
	wanted := append(slices.Clone(f.Tools), tools.TerminateName, tools.ReadOutputName, tools.CompletionName, tools.DelegateName, skillName)
	for _, t := range all {
		name := t.Spec().Name
		names = append(names, name)
		if slices.Contains(wanted, name) {
			ts = append(ts, t)
		}
	}
	for _, name := range f.Tools {
		if !slices.Contains(names, name) && name != tools.DelegateName && name != skillName {
			return nil, fmt.Errorf("%s: there is no tool %q; the tools are %s", f.Path, name, strings.Join(names, ", "))
		}
	}
	return ts, nil
}

// Assistants describes the agents with these names for an agent that may
// delegate to them. The error names one that does not exist.
func Assistants(kinds []Kind, names []string) ([]tools.Assistant, error) {
	var as []tools.Assistant
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k Kind) bool { return sameName(k.Name, name) && !k.Hidden })
		if i < 0 {
			return nil, fmt.Errorf("there is no agent %q", name)
		}
		as = append(as, tools.Assistant{Name: kinds[i].Name, Description: kinds[i].Description})
	}
	return as, nil
}
