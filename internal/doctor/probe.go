package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
)

// Told is what an endpoint says of itself.
type Told struct {
	Models []string      // the names of its models
	Facts  []config.Fact // about the model that was asked for
	Roles  string        // roles that the model's template knows and lacks; "": it does not say
	Server string        // the program that answers, as its header names it; "": it does not say
	Wants  string        // the field that the model's template reads reasoning from; "": it does not say
	Silent string        // why nothing of this is known, for people; "": it says something
}

// Probe asks an OpenAI-compatible endpoint what it has, and what it says of one of its
// models: by its list of models and the headers of that, and by the pages of llama.cpp, LM Studio
// and Ollama if that says no window or is llama.cpp's. It costs nothing. It sends the key if that is not "", and follows no
// redirect. No error contains the key or a password. It takes as long as ctx allows.
func Probe(ctx context.Context, baseURL, key, model string) (t Told, err error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return t, errors.New("not an address")
	}
	var list struct{ Data []listedModel }
	header, err := answerOf(ctx, u.JoinPath("models"), key, "", &list)
	if err != nil {
		return t, elsewhere(ctx, u, key, err)
	}
	t.Models, t.Server = []string{}, header.Get("Server")
	for _, m := range list.Data {
		t.Models = append(t.Models, m.ID)
	}
	at := slices.IndexFunc(list.Data, func(m listedModel) bool { return m.ID == model || m.ID == model+":latest" })
	if at < 0 && len(list.Data) == 1 {
		at = 0 // a server of one model answers to any name
	}
	if at >= 0 {
		t.Facts = list.Data[at].facts()
	}
	defer func() { t.within(header) }()
	if t.says("window") && list.Data[at].Meta.Window == 0 {
		return t, nil
	}
	root := *u
	root.Path = strings.TrimSuffix(strings.TrimRight(root.Path, "/"), "/v1")
	t.more(ctx, &root, key, model)
	return t, nil
}

// more asks for the pages of servers that say more of themselves than their list of models.
func (t *Told) more(ctx context.Context, root *url.URL, key, model string) {
	var props llamaProps
	if ask(ctx, root.JoinPath("props"), key, &props) == nil && props.Settings.Window > 0 {
		t.add("its /props", props.facts())
		t.Roles, t.Wants = props.roles(), props.wants()
		return
	}
	var studio struct{ Data []studioModel }
	if ask(ctx, root.JoinPath("api", "v0", "models"), key, &studio) == nil {
		for _, m := range studio.Data {
			if m.ID == model {
				t.add("LM Studio's list", m.facts())
			}
		}
		return
	}
	var shown ollamaShown
	body, _ := json.Marshal(map[string]string{"model": model}) // text always can
	if _, err := answerOf(ctx, root.JoinPath("api", "show"), key, string(body), &shown); err != nil {
		return
	}
	t.add("Ollama's /api/show", shown.facts())
	var loaded struct{ Models []ollamaLoaded }
	if ask(ctx, root.JoinPath("api", "ps"), key, &loaded) == nil {
		for _, m := range loaded.Models {
			if m.Name == model || m.Name == model+":latest" {
				t.add("Ollama's /api/ps", m.facts())
			}
		}
	}
}

// allowances are the headers that say how many tokens are taken in a minute. A larger request
// is refused whenever it is made.
var allowances = []string{"X-Ratelimit-Limit-Tokens", "Anthropic-Ratelimit-Input-Tokens-Limit"}

// within lowers the window to what headers allow.
func (t *Told) within(header http.Header) {
	for _, name := range allowances {
		n, err := strconv.Atoi(header.Get(name))
		if err != nil || n <= 0 {
			continue
		}
		i := slices.IndexFunc(t.Facts, func(f config.Fact) bool { return f.Key == "window" })
		if i >= 0 {
			if known, _ := strconv.Atoi(t.Facts[i].Value); known <= n {
				continue
			}
			t.Facts = slices.Delete(t.Facts, i, i+1)
		}
		var f facts
		f.number("window", n)
		t.add("its header "+name, f)
	}
}

// says reports whether there is a fact with the key.
func (t *Told) says(key string) bool {
	return slices.ContainsFunc(t.Facts, func(f config.Fact) bool { return f.Key == key })
}

// add adds facts that are not there yet.
func (t *Told) add(from string, facts []config.Fact) {
	for _, f := range facts {
		if f.From = from; !t.says(f.Key) {
			t.Facts = append(t.Facts, f)
		}
	}
}

// ask gets a document.
func ask(ctx context.Context, u *url.URL, key string, into any) error {
	_, err := answerOf(ctx, u, key, "", into)
	return err
}

// answerOf gets a document and its headers, or posts body for them if that is not "". The
// answer is read up to 8 MiB.
func answerOf(ctx context.Context, u *url.URL, key, body string, into any) (http.Header, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, errors.New("not an address")
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) { // whose text repeats the address
			err = ue.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, StatusError(res.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 8<<20)).Decode(into); err != nil {
		return nil, errOtherList
	}
	return res.Header, nil
}

// A listedModel is a model in a list in the way of OpenAI, with the fields that servers
// add: llama.cpp, vLLM, OpenRouter, Groq, Mistral, Together, Moonshot and gateways.
type listedModel struct {
	ID   string `json:"id"`
	Meta struct {
		Window int `json:"n_ctx"`
	} `json:"meta"`
	MaxModelLen   int `json:"max_model_len"`
	ContextLength int `json:"context_length"`
	ContextWindow int `json:"context_window"`
	MaxContext    int `json:"max_context_length"`
	MaxInput      int `json:"max_input_tokens"`
	MaxOutput     int `json:"max_completion_tokens"`
	Top           struct {
		Window int `json:"context_length"`
		Output int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Parameters   []string        `json:"supported_parameters"`
	Capabilities json.RawMessage `json:"capabilities"`
	ImageIn      *bool           `json:"supports_image_in"`
	Reasoning    *bool           `json:"supports_reasoning"`
}

// facts returns what the list says of m.
func (m listedModel) facts() []config.Fact {
	var caps struct {
		Tools  *bool `json:"function_calling"`
		Vision *bool `json:"vision"`
	}
	_ = json.Unmarshal(m.Capabilities, &caps) // others have a list of words there
	var f facts
	f.number("window", cmp.Or(m.Top.Window, m.Meta.Window, m.MaxModelLen, m.ContextLength, m.ContextWindow, m.MaxContext, m.MaxInput))
	f.number("output", cmp.Or(m.Top.Output, m.MaxOutput))
	if len(m.Architecture.Input) > 0 {
		sees := slices.Contains(m.Architecture.Input, "image")
		f.yes("vision", &sees)
	}
	f.yes("vision", caps.Vision)
	f.yes("vision", m.ImageIn)
	if len(m.Parameters) > 0 {
		calls := slices.Contains(m.Parameters, "tools")
		f.yes("tools", &calls)
	}
	f.yes("tools", caps.Tools)
	f.yes("reasoning", m.Reasoning)
	for i := range f {
		f[i].From = "its list of models"
	}
	return f
}

// llamaProps is what llama.cpp says at /props.
type llamaProps struct {
	Settings struct {
		Window int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Modalities *struct {
		Vision bool `json:"vision"`
	} `json:"modalities"`
	Template *struct {
		Tools      *bool `json:"supports_tools"`
		Calls      *bool `json:"supports_tool_calls"`
		SystemRole *bool `json:"supports_system_role"`
	} `json:"chat_template_caps"`
	Source string `json:"chat_template"`
}

// wants names the field that the template reads reasoning from.
func (p llamaProps) wants() string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if strings.Contains(p.Source, "."+name) || strings.Contains(p.Source, "'"+name+"'") {
			return name
		}
	}
	return ""
}

func (p llamaProps) facts() []config.Fact {
	var f facts
	f.number("window", p.Settings.Window)
	if p.Modalities != nil {
		f.yes("vision", &p.Modalities.Vision)
	}
	if t := p.Template; t != nil && t.Tools != nil && t.Calls != nil {
		calls := *t.Tools && *t.Calls
		f.yes("tools", &calls)
	}
	return f
}

// roles says which role the template lacks.
func (p llamaProps) roles() string {
	if t := p.Template; t != nil && t.SystemRole != nil {
		if *t.SystemRole {
			return "system, user, assistant"
		}
		return "user, assistant (no system)"
	}
	return ""
}

// A studioModel is a model in LM Studio's own list.
type studioModel struct {
	ID           string   `json:"id"`
	Type         string   `json:"type"`
	Loaded       int      `json:"loaded_context_length"`
	Capabilities []string `json:"capabilities"`
}

func (m studioModel) facts() []config.Fact {
	var f facts
	f.number("window", m.Loaded) // the longest that it could be loaded with is another number
	if m.Type != "" {            // another server's list at the same address has none
		sees := m.Type == "vlm"
		f.yes("vision", &sees)
	}
	if m.Capabilities != nil {
		calls := slices.Contains(m.Capabilities, "tool_use")
		f.yes("tools", &calls)
	}
	return f
}

// ollamaShown is what Ollama says of a model.
type ollamaShown struct {
	Capabilities []string `json:"capabilities"`
}

func (m ollamaShown) facts() []config.Fact {
	var f facts
	if len(m.Capabilities) == 0 {
		return f // an older one
	}
	for _, c := range [][2]string{{"vision", "vision"}, {"tools", "tools"}, {"reasoning", "thinking"}} {
		has := slices.Contains(m.Capabilities, c[1])
		f.yes(c[0], &has)
	}
	return f
}

// An ollamaLoaded is a model that Ollama has in memory.
type ollamaLoaded struct {
	Name   string `json:"name"`
	Window int    `json:"context_length"` // as it was loaded
}

func (m ollamaLoaded) facts() []config.Fact {
	var f facts
	f.number("window", m.Window)
	return f
}

// facts are those of one answer.
type facts []config.Fact

func (f *facts) number(key string, n int) {
	if n > 0 {
		*f = append(*f, config.Fact{Key: key, Value: strconv.Itoa(n), At: time.Now()})
	}
}

func (f *facts) yes(key string, is *bool) {
	if is != nil && !slices.ContainsFunc(*f, func(g config.Fact) bool { return g.Key == key }) {
		*f = append(*f, config.Fact{Key: key, Value: strconv.FormatBool(*is), At: time.Now()})
	}
}
