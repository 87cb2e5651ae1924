// Package vertex describes the models on Google Vertex: Gemini and Claude, each
// asked in the format of its maker, with the credentials of Google's tools.
package vertex

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/anthropic"
	"github.com/openmanus-go/openmanus/llm/google"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes Vertex. Its base URL ends in
// /v1/projects/PROJECT/locations/LOCATION, which is added where it is missing.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:      "vertex",
		Title:     "Google Vertex AI",
		TraceName: "gcp.vertex_ai",
		Hosts: []string{"aiplatform.googleapis.com", "*-aiplatform.googleapis.com",
			"aiplatform.*.rep.googleapis.com"},
		Address:    address,
		Keyless:    true,
		SignIn:     "Google",
		SignInVars: []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"},
		SignInHint: "the project is that of ADDRESS, which is from SOURCE",
		Serves:     serves,
		Maker:      maker,
		New:        open,
	}
}

// serves is [provider.Provider].Serves.
func serves(model string) error {
	if isClaude(model) || strings.HasPrefix(model, "gemini") {
		return nil
	}
	model = cmp.Or(model, "NAME")
	return fmt.Errorf("on Vertex, Claude and Gemini are served; for another model set [llm] base_url to the project's "+
		"…/endpoints/openapi and call the model compat/%s", model)
}

func isClaude(model string) bool { return strings.HasPrefix(model, "claude") }

// maker is [provider.Provider].Maker: the models of both makers have the names that
// their makers use.
func maker(model string) (maker, name string) {
	if i := strings.Index(model, "anthropic."); i >= 0 {
		return "anthropic", strings.TrimPrefix(model[i:], "anthropic.")
	}
	if isClaude(model) {
		return "anthropic", model
	}
	return "google", model
}

// address puts the project and the location into the address, unless they
// stand there.
func address(q provider.Query) (provider.Address, error) {
	base := q.Base
	if strings.Contains(base.Text, "/projects/") {
		return provider.Address{Base: base}, nil
	}
	project := q.Or(q.Project, "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
	location := q.Or(q.Region, "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION")
	if project.Text == "" {
		return provider.Address{}, fmt.Errorf("%s needs a project: set [llm] project or GOOGLE_CLOUD_PROJECT, "+
			"and [llm] region or GOOGLE_CLOUD_LOCATION unless it is global", q.Model)
	}
	place := location.Text
	place = cmp.Or(place, "global")
	if base.Text == "" {
		base = provider.Setting{Text: "https://" + place + "-aiplatform.googleapis.com", At: location.At}
		if place == "global" {
			base.Text = "https://aiplatform.googleapis.com"
		}
		if location.At == (provider.Source{}) {
			base.At = project.At
		}
	}
	base.Text = strings.TrimSuffix(strings.TrimRight(base.Text, "/"), "/v1") +
		"/v1/projects/" + url.PathEscape(project.Text) + "/locations/" + url.PathEscape(place)
	if err := provider.CheckWord(base.Text, location); err != nil {
		return provider.Address{}, err
	}
	return provider.Address{Base: base}, provider.CheckWord(base.Text, project)
}

// open is [provider.Provider].New: the adapter of the model's maker, at the address of
// the project.
func open(o provider.Options) (llm.Model, error) {
	base, _, _ := strings.Cut(strings.TrimRight(o.BaseURL, "/"), "/publishers/")
	var token func(context.Context) (string, error)
	switch {
	case o.Key != "":
		token = func(context.Context) (string, error) { return o.Key, nil }
	case o.SignIn:
		token = DefaultToken(nil)
	}
	if isClaude(o.Model) {
		return anthropic.New(anthropic.Options{Model: o.Model, BaseURL: base + "/publishers/anthropic", Vertex: true,
			Bearer: token, Output: o.Output, Hint: o.Hint}), nil
	}
	return google.New(google.Options{Model: o.Model, BaseURL: base + "/publishers/google", Token: token, Hint: o.Hint}), nil
}
