package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A Skill is a directory with a SKILL.md in the Agent Skills format: a text that
// says how to do something, with the files that it needs. Every request of an
// agent with skills contains their names and descriptions. The agent reads the
// text when a task calls for it.
type Skill struct {
	Name        string
	Description string
	Dir         string // its path, as tools see it
	From        string // where it was found: "workspace" or "user"

	files  fs.FS
	folder string // in files
}

// maxSkillFiles is the most files of a skill that are listed.
const maxSkillFiles = 50

// Skills reads the skills in some folders of dir, whose path is root. It returns
// a problem for each skill that it cannot use, beside the other skills. The
// field allowed-tools has no effect: a skill cannot grant permissions.
func Skills(dir fs.FS, root, from string, folders ...string) (skills []Skill, problems []error) {
	for _, folder := range folders {
		entries, err := fs.ReadDir(dir, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
		for _, e := range entries {
			at := path.Join(folder, e.Name())
			data, err := readFile(dir, path.Join(at, "SKILL.md"))
			if errors.Is(err, fs.ErrNotExist) || !e.IsDir() {
				continue
			}
			if err == nil {
				var s Skill
				if s, err = parseSkill(e.Name(), data); err == nil {
					s.files, s.folder, s.From, s.Dir = dir, at, from, root+"/"+at
					skills = append(skills, s)
					continue
				}
			}
			problems = append(problems, fmt.Errorf("%s/SKILL.md: %w", at, err))
		}
	}
	return skills, problems
}

// parseSkill parses a SKILL.md. The format requires that the name is that of the
// folder.
func parseSkill(folder string, data []byte) (Skill, error) {
	var f struct{ Name, Description string }
	_, err := cutFront(data, &f)
	switch {
	case err != nil:
		return Skill{}, err
	case f.Name != folder:
		return Skill{}, fmt.Errorf("the name %q is not the name of the folder", f.Name)
	case !fileName.MatchString(f.Name) || len(f.Name) > 64:
		return Skill{}, fmt.Errorf("the name %q must consist of lower-case letters and digits, in words joined by -", f.Name)
	case foreignLine(f.Description) == "":
		return Skill{}, errors.New("it has no description: write when an agent should use it")
	}
	return Skill{Name: f.Name, Description: foreignLine(f.Description)}, nil
}

// maxDescription is how many characters of a description stand in a prompt.
const maxDescription = 1024

// foreignLine returns a text that others wrote as one line of bounded length for
// a prompt, where it must not look like more than it is.
func foreignLine(text string) string {
	return shortened(clip.OneLine(clip.Clean(text)), maxDescription)
}

// fileLabel returns a file's name for a list with one name in each line.
func fileLabel(name string) string {
	if name != foreignLine(name) {
		return strconv.Quote(name)
	}
	return name
}

// skillName is the name of the tool that reads skills.
const skillName = "skill"

// newSkillTool returns the tool that reads skills. Those of the workspace ws, if
// it is not nil, are read as its other files are, so that the same files exist.
func newSkillTool(skills []Skill, ws workspace.Files) openmanus.Tool {
	skills = slices.Clone(skills)
	for i := range skills {
		if ws != nil && skills[i].From == "workspace" {
			skills[i].files = workspace.Unnamed(ws.FS())
		}
	}
	var names []string
	var sources []openmanus.Source
	var b strings.Builder
	b.WriteString("Read how something is done here. When a task fits one of these skills, read it before you start, " +
		"and do as it says as far as the task and the person allow.\n")
	for _, s := range skills {
		if src := s.source("SKILL.md"); !src.Trusted {
			src.Words = []string{s.Description}
			sources = append(sources, src)
		}
		names = append(names, s.Name)
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Description)
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic("agents: " + err.Error()) // strings always encode
	}
	schema := `{"type":"object","properties":{` +
		`"name":{"type":"string","enum":` + string(list) + `,"description":"Which skill."},` +
		`"file":{"type":"string","description":"One of its files, instead of its text."}` +
		`},"required":["name"],"additionalProperties":false}`
	spec := openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: skillName, Description: strings.TrimSpace(b.String()), Input: json.RawMessage(schema)},
		Hints:     openmanus.Hints{ReadOnly: true, Idempotent: true},
		Says:      toolspec.Says("reads: read a skill, reading a skill, read a skill | 读取技能, 正在读取技能, 读取了技能 @ name"),
		Arguments: []openmanus.Argument{{Name: "file", Kind: openmanus.PathArgument, Does: openmanus.Reads}},
		Sources:   sources,
	}
	return openmanus.Func(spec, func(_ context.Context, _ openmanus.Call, in struct{ Name, File string }) (openmanus.Result, error) {
		i := slices.IndexFunc(skills, func(s Skill) bool { return s.Name == in.Name })
		if i < 0 {
			return openmanus.Result{}, fmt.Errorf("there is no skill %q; the skills are %s", in.Name, strings.Join(names, ", "))
		}
		if in.File != "" {
			return skills[i].file(in.File)
		}
		return skills[i].read()
	})
}

// source returns the label of one of the skill's files. The user wrote those that are
// not in the workspace, and wants what they say.
func (s Skill) source(name string) openmanus.Source {
	if s.From == "workspace" {
		return openmanus.FileSource(path.Join(s.folder, name))
	}
	return openmanus.Source{From: openmanus.FromFile + path.Join(s.Dir, name), Trusted: true, Private: true}
}

// file returns the content of one of the skill's files.
func (s Skill) file(name string) (openmanus.Result, error) {
	name = strings.TrimPrefix(path.Clean(strings.TrimPrefix(name, s.Dir+"/")), "./")
	if !fs.ValidPath(name) {
		return openmanus.Result{}, fmt.Errorf("%q is not a file of the skill %s", name, s.Name)
	}
	data, err := readFile(s.files, path.Join(s.folder, name))
	if err != nil {
		return openmanus.Result{}, err
	}
	res := openmanus.TextResult("%s", strings.ToValidUTF8(string(data), "\uFFFD"))
	res.Source, res.Sources = s.Dir+"/"+name, []openmanus.Source{s.source(name)}
	return res, nil
}

// read returns the text of the skill and the names of its files.
func (s Skill) read() (openmanus.Result, error) {
	data, err := readFile(s.files, path.Join(s.folder, "SKILL.md"))
	if err != nil {
		return openmanus.Result{}, err
	}
	var head struct{}
	text, err := cutFront(data, &head)
	if err != nil {
		return openmanus.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The skill %s, in %s:\n\n%s\n", s.Name, s.Dir, strings.TrimSpace(text))
	var files []string
	err = fs.WalkDir(s.files, s.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == "SKILL.md" {
			return err
		}
		if files = append(files, fileLabel(strings.TrimPrefix(name, s.folder+"/"))); len(files) == maxSkillFiles {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return openmanus.Result{}, err
	}
	if len(files) > 0 {
		b.WriteString("\nIts files, to be read where the text calls for them:\n- " + strings.Join(files, "\n- ") + "\n")
	}
	res := openmanus.TextResult("%s", b.String())
	res.Source, res.Sources = s.Dir, []openmanus.Source{s.source("SKILL.md")}
	return res, nil
}
