package bedrock

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// Provider describes Bedrock. Without a key of Bedrock's, requests are signed
// with the credentials that AWS' own tools use.
func Provider() *provider.Provider {
	return &provider.Provider{
		Name:      "bedrock",
		Title:     "Amazon Bedrock",
		TraceName: "aws.bedrock",
		Types:     []string{"aws", "bedrock"},
		Hosts: []string{"bedrock-runtime.*.amazonaws.com", "bedrock-runtime-fips.*.amazonaws.com",
			"bedrock-runtime.*.amazonaws.com.cn"},
		Address:     address,
		KeyVars:     []string{"AWS_BEARER_TOKEN_BEDROCK"},
		SignInVars:  []string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
		SecretVars:  []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"},
		KeyPrefixes: []string{"ABSK", "bedrock-api-key-"}, // OpenManus' example has an api_key that is none
		Keyless:     true,
		SignInHint:  "the region is from SOURCE",
		APIs:        []string{"", Messages, Converse},
		Maker:       maker,
		New: func(o provider.Options) (llm.Model, error) {
			return New(Options{Model: o.Model, Region: o.Region, BaseURL: o.BaseURL, Key: o.Key, API: o.API,
				Output: o.Output, Hint: o.Hint}), nil
		},
	}
}

// address finds the address of the region that AWS' own tools would use, unless
// the configuration names one.
func address(q provider.Query) (provider.Address, error) {
	region := q.Region
	if region.Text == "" {
		region = ambientRegion(q)
	}
	base := q.Base
	switch {
	case base.Text != "" && !strings.Contains(base.Text, "://"): // as in OpenManus' example
		base.Text = "https://" + base.Text
	case base.Text != "":
	case region.Text == "":
		return provider.Address{}, fmt.Errorf("%s needs a region: set [llm] region, AWS_REGION, or region in "+
			"~/.aws/config; or [llm] base_url to https://bedrock-runtime.REGION.amazonaws.com", q.Model)
	default:
		base = provider.Setting{Text: "https://bedrock-runtime." + region.Text + ".amazonaws.com", At: region.At}
		if err := provider.CheckWord(base.Text, region); err != nil {
			return provider.Address{}, err
		}
	}
	return provider.Address{Base: base, Region: region.Text}, nil
}

// ambientRegion returns the region that AWS' own tools would use; a zero Setting if
// none is configured.
func ambientRegion(q provider.Query) provider.Setting {
	if region := q.Env("AWS_REGION", "AWS_DEFAULT_REGION"); region.Text != "" {
		return region
	}
	path := q.Env("AWS_CONFIG_FILE").Text
	if home := q.Env("HOME", "USERPROFILE").Text; path == "" && home != "" {
		path = filepath.Join(home, ".aws", "config")
	}
	text, err := q.ReadFile(path)
	if err != nil {
		return provider.Setting{} // the error about the missing region names this file
	}
	profile := q.Env("AWS_PROFILE").Text
	profile = cmp.Or(profile, "default")
	region, line := regionOf(string(text), profile)
	return provider.Setting{Text: region, At: provider.Source{From: provider.File, Name: path, Line: line}}
}

// regionOf returns the region of a profile in the text of ~/.aws/config, and
// its line.
func regionOf(text, profile string) (region string, line int) {
	within := false
	for n, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(strings.TrimSuffix(l, "\r"))
		if section, ok := strings.CutPrefix(l, "["); ok {
			section, _, _ = strings.Cut(section, "]")
			name := strings.Join(strings.Fields(section), " ")
			within = name == "profile "+profile || name == "default" && profile == "default"
			continue
		}
		key, value, ok := strings.Cut(l, "=")
		if within && ok && strings.TrimSpace(key) == "region" {
			value, _, _ = strings.Cut(value, " #")
			region, line = strings.TrimSpace(value), n+1
		}
	}
	return region, line
}

// vendor is what Bedrock puts before the name of a model: meta.llama3-1-70b, and
// us.meta.llama3-1-70b where several regions answer.
var vendor = regexp.MustCompile(`^((us|us-gov|eu|apac|jp|au|ca|global)\.)?[a-z0-9]+\.`)

// maker knows Anthropic's and Amazon's models also within an ARN.
func maker(model string) (maker, name string) {
	if i := strings.Index(model, "anthropic."); i >= 0 {
		return "anthropic", strings.TrimPrefix(model[i:], "anthropic.")
	}
	if i := strings.Index(model, "amazon."); i >= 0 {
		return "bedrock", model[i:]
	}
	return "bedrock", vendor.ReplaceAllString(model, "")
}
