package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A planFile is a plan as people keep it: the arguments with which a planner
// would make it.
type planFile struct {
	Command string    `json:"command"`
	PlanID  string    `json:"plan_id"`
	Title   string    `json:"title"`
	Steps   []newStep `json:"steps"`
}

// ReadPlan returns the arguments of the planning call that makes the plan in a
// file. The file is a JSON object with title and steps, as a planner writes
// them; or a text with one step a line, in which a heading is the title. The
// error says what is wrong with the plan. agents are those to which steps may
// be given.
func ReadPlan(data []byte, agents []string) (json.RawMessage, error) {
	f := planFile{Command: "create", PlanID: "plan", Title: "The plan"}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		dec := json.NewDecoder(bytes.NewReader(trimmed))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			return nil, fmt.Errorf("it is not a plan: %w", err)
		}
		f.Command = "create"
	} else {
		f.readText(string(data))
	}
	if len(f.Steps) == 0 {
		return nil, errors.New("the plan has no steps")
	}
	if err := checkSteps(f.Steps, agents); err != nil {
		return nil, err
	}
	return json.Marshal(f)
}

// item matches what stands before a step in a list.
var item = regexp.MustCompile(`^(?:[-*+•]|\d+[.)])\s+(?:\[[ xX✓→!]\]\s+)?`)

// readText reads a plan that is a text.
func (f *planFile) readText(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			f.Title = strings.TrimSpace(strings.TrimLeft(title, "#"))
			continue
		}
		if step := strings.TrimSpace(item.ReplaceAllString(line, "")); step != "" {
			f.Steps = append(f.Steps, newStep{Text: step})
		}
	}
}

// MarshalJSON implements [json.Marshaler]. A step that is only a text is
// written as a string.
func (s newStep) MarshalJSON() ([]byte, error) {
	if s.Agent == "" && s.DependsOn == nil && s.Acceptance == "" {
		return json.Marshal(s.Text)
	}
	return json.Marshal(struct {
		Text       string `json:"text"`
		Agent      string `json:"agent,omitempty"`
		DependsOn  []int  `json:"depends_on,omitzero"`
		Acceptance string `json:"acceptance,omitempty"`
	}(s))
}

// File returns the plan as a file that [ReadPlan] reads. The statuses of the
// steps are not in it.
func (p *Plan) File() ([]byte, error) {
	f := struct {
		Title string    `json:"title"`
		Steps []newStep `json:"steps"`
	}{p.Title, nil}
	at := make(map[int]int)
	for i, s := range p.Steps {
		at[s.ID] = i
	}
	for _, s := range p.Steps {
		n := newStep{Text: s.Text, Agent: s.Agent, Acceptance: s.Acceptance}
		if s.After != nil {
			n.DependsOn = []int{}
		}
		for _, id := range s.After {
			n.DependsOn = append(n.DependsOn, at[id])
		}
		f.Steps = append(f.Steps, n)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(f)
	return b.Bytes(), err
}
