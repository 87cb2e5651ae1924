// Package azure describes OpenAI's models at Microsoft Azure. They are asked as
// at OpenAI, at the address of a resource or of one deployment, with the
// resource's key or a sign-in of Microsoft Entra.
package azure

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/entra"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes Azure. Its base URL is that of a resource, such as
// https://NAME.openai.azure.com, or of a deployment.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:      "azure",
		Title:     "Azure OpenAI",
		TraceName: "azure.ai.openai",
		Types:     []string{"azure"},
		Hosts: []string{"*.openai.azure.com", "*.cognitiveservices.azure.com", "*.services.ai.azure.com",
			"*.openai.azure.us", "*.openai.azure.cn"},
		Tenants:    true,
		Address:    address,
		KeyVars:    []string{"AZURE_OPENAI_API_KEY"},
		SecretVars: []string{"AZURE_CLIENT_SECRET"},
		SignIn:     "Microsoft",
		SignInVars: []string{"AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"},
		SignInHint: "the sign-in is for ADDRESS, which is from SOURCE",
		APIs:       []string{openai.Chat, openai.Responses},
		Maker:      func(model string) (string, string) { return "openai", model },
		New:        open,
	}
}

// address is [provider.Provider].Address. Every customer has a resource of their own, so
// there is no default.
func address(q provider.Query) (provider.Address, error) {
	base := q.Or(q.Base, "AZURE_OPENAI_ENDPOINT")
	if base.Text == "" {
		return provider.Address{}, fmt.Errorf("%s needs the address of your resource: set AZURE_OPENAI_ENDPOINT "+
			"or [llm] base_url, such as https://NAME.openai.azure.com", q.Model)
	}
	version := q.Or(q.Version, "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
	return provider.Address{Base: base, Version: version.Text}, nil
}

// open is [provider.Provider].New. A key goes into the header that Azure wants; a token of
// Entra's is a bearer token.
func open(o provider.Options) (llm.Model, error) {
	opts := openai.From(o)
	opts.BaseURL, opts.Key = deployment(o.BaseURL, o.Version, o.Model), ""
	if o.Key != "" {
		opts.Header = http.Header{"Api-Key": {o.Key}}
	}
	if o.SignIn {
		opts.Bearer, opts.SignIn = entra.DefaultToken(nil, o.BaseURL), "this sign-in with Microsoft Entra"
	}
	return openai.New(opts), nil
}

// deployment returns the address of a model. The address of a deployment stays.
// That of a resource is completed: with the interface that has no versions, or,
// if there is a version, with the deployment that has the model's name.
func deployment(base, version, model string) string {
	base = strings.TrimRight(base, "/")
	switch {
	case strings.Contains(base, "/openai/"):
	case version == "":
		return base + "/openai/v1"
	default:
		base = strings.TrimSuffix(base, "/openai") + "/openai/deployments/" + url.PathEscape(model)
	}
	if version == "" && strings.Contains(base, "/deployments/") {
		version = "2024-10-21" // the last that is not a preview
	}
	if version == "" {
		return base
	}
	return base + "?api-version=" + url.QueryEscape(version)
}
