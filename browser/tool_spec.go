package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/sandbox/egress"
)

var (
	//go:embed data/description.txt
	description string
	//go:embed data/schema.json
	schema string
)

// The declarations of the arguments: what actions do with them.
var (
	theAction = openmanus.Argument{Name: "action", Kind: openmanus.TextArgument, Does: openmanus.Reads}
	requests  = openmanus.Argument{Name: "url", Kind: openmanus.URLArgument, Does: openmanus.Requests, Local: true}
	writesTo  = openmanus.Argument{Name: "file_path", Kind: openmanus.PathArgument, Does: openmanus.Writes}
	shows     = openmanus.Argument{Name: "file_path", Kind: openmanus.PathArgument, Does: openmanus.Reads}
	uploads   = openmanus.Argument{Name: "file_path", Kind: openmanus.PathArgument, Does: openmanus.Sends}
	searches  = openmanus.Argument{Name: "query", Kind: openmanus.TextArgument, Does: openmanus.Sends}
	types     = openmanus.Argument{Name: "text", Kind: openmanus.TextArgument, Does: openmanus.Sends}
	fills     = openmanus.Argument{Name: "fields", Kind: openmanus.TextArgument, Does: openmanus.Sends}
	scripts   = openmanus.Argument{Name: "script", Kind: openmanus.TextArgument, Does: openmanus.Sends}
	executes  = openmanus.Argument{Name: "script", Kind: openmanus.TextArgument, Does: openmanus.Runs}
	pressed   = openmanus.Argument{Name: "keys", Kind: openmanus.TextArgument, Does: openmanus.Sends}
)

// ArgumentsOf implements [openmanus.ArgumentHinter]. Arguments that the action does
// not use are plain content: they neither break a rule nor keep one.
func (t *Tool) ArgumentsOf(call openmanus.Call) []openmanus.Argument {
	var in params
	json.Unmarshal([]byte(call.Input), &in) // an unknown action uses nothing
	return append([]openmanus.Argument{theAction}, in.uses()...)
}

// uses returns what the action does with the arguments that it uses.
func (p params) uses() []openmanus.Argument {
	switch p.Action {
	case "go_to_url", "open_tab":
		if blank(p.URL) {
			return []openmanus.Argument{shows}
		}
		return []openmanus.Argument{requests}
	case "download":
		if p.Index != nil {
			return []openmanus.Argument{writesTo}
		}
		return []openmanus.Argument{requests, writesTo}
	case "screenshot", "save_pdf":
		return []openmanus.Argument{writesTo}
	case "upload_file":
		return []openmanus.Argument{uploads}
	case "web_search":
		return []openmanus.Argument{searches}
	case "input_text", "select_dropdown_option", "handle_dialog":
		return []openmanus.Argument{types}
	case "send_keys":
		return []openmanus.Argument{pressed}
	case "fill_form":
		return []openmanus.Argument{fills}
	case "execute_js": // a script can send what it says, and does what its writer wants
		return []openmanus.Argument{scripts, executes}
	}
	return nil
}

// arguments declare what browser_use does with its arguments, whatever the action.
var arguments = []openmanus.Argument{requests, writesTo, shows, uploads, searches, types, pressed, fills, scripts, executes}

// params are the arguments of a call.
type params struct {
	Action       string   `json:"action"`
	URL          string   `json:"url"`
	Index        *int     `json:"index"`
	Text         *string  `json:"text"`
	ScrollAmount int      `json:"scroll_amount"`
	TabID        *int     `json:"tab_id"`
	Query        string   `json:"query"`
	Goal         string   `json:"goal"`
	Keys         string   `json:"keys"`
	Seconds      *int     `json:"seconds"`
	ToIndex      *int     `json:"to_index"`
	X            *float64 `json:"x"`
	Y            *float64 `json:"y"`
	Button       string   `json:"button"`
	Accept       *bool    `json:"accept"`
	FilePath     string   `json:"file_path"`
	Fields       []field  `json:"fields"`
	Submit       *int     `json:"submit"`
	Script       string   `json:"script"`
}

// A field is what fill_form puts into a field: a text, an option of a drop-down,
// or whether a box is checked.
type field struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// point returns the place that x and y give, or nil.
func (p params) point() *Point {
	if p.X == nil || p.Y == nil {
		return nil
	}
	return &Point{*p.X, *p.Y}
}

// A need is an argument that an action requires, or a choice of arguments, by the
// name that OpenManus' errors give it.
type need struct {
	name  string
	given func(params) bool
}

// blank reports whether there is nothing but space in s.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

var (
	needURL   = need{"URL", func(p params) bool { return !blank(p.URL) || p.FilePath != "" }}
	needIndex = need{"Index", func(p params) bool { return p.Index != nil }}
	needPlace = need{"Index", func(p params) bool { return p.Index != nil || p.point() != nil }}
	needText  = need{"Text", func(p params) bool { return p.Text != nil }}
	needWords = need{"Text", func(p params) bool { return p.Text != nil && !blank(*p.Text) }}
	needTab   = need{"Tab ID", func(p params) bool { return p.TabID != nil }}
	needQuery = need{"Query", func(p params) bool { return !blank(p.Query) }}
	needGoal  = need{"Goal", func(p params) bool { return !blank(p.Goal) }}
	needKeys  = need{"Keys", func(p params) bool { return p.Keys != "" }}
	needReply = need{"Accept", func(p params) bool { return p.Accept != nil }}
	needFile  = need{"File path", func(p params) bool { return p.FilePath != "" }}
	needForm  = need{"Fields", func(p params) bool { return len(p.Fields) > 0 }}
	needCode  = need{"Script", func(p params) bool { return !blank(p.Script) }}
	needLink  = need{"Index or url", func(p params) bool { return p.Index != nil || !blank(p.URL) }}
	needEnd   = need{"To_index or x and y", func(p params) bool { return p.ToIndex != nil || p.point() != nil }}
)

// check returns an error if an argument is missing. It names all that the action
// requires, in the words of OpenManus: "Index and text are required for …".
func (a action) check(p params) error {
	missing := false
	var names []string
	for _, n := range a.needs {
		missing = missing || !n.given(p)
		if len(names) == 0 {
			names = append(names, n.name)
		} else {
			names = append(names, strings.ToLower(n.name))
		}
	}
	if !missing {
		return nil
	}
	verb := "is"
	if len(names) > 1 || names[0] == "Keys" || names[0] == "Fields" {
		verb = "are"
	}
	like := ""
	if names[0] == "Fields" {
		like = `: [{"index": 3, "text": "…"}]`
	}
	return fmt.Errorf("%s %s required for '%s' action%s", strings.Join(names, " and "), verb, p.Action, like)
}

// parseAddress parses an address as a model writes it, with or without a scheme.
// It refuses schemes other than http and https. The URL of about:blank, which
// shows nothing, is accepted as well.
func parseAddress(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw == "about:blank" {
		return url.Parse(raw)
	}
	scheme, rest, ok := strings.Cut(strings.ToLower(raw), ":")
	switch {
	case !ok || scheme == "http" || scheme == "https":
	case strings.HasPrefix(rest, "//"), scheme != "localhost" && !strings.Contains(scheme, "."): // no host with a port
		return nil, fmt.Errorf("%s: only http and https addresses are opened, and with file_path a file of the workspace", raw)
	}
	return egress.ParseURL(raw)
}
