package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where models of a cloud are: by the configuration, else by the variables and
// files of the cloud's own tools, and no address without a word of either.
func TestModelsOfClouds(t *testing.T) {
	aws := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(aws, []byte("[default]\nregion = eu-west-1 # near\n[profile work]\noutput=json\nregion=us-west-2\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	google := map[string]string{"GOOGLE_CLOUD_PROJECT": "p-1"}
	for _, c := range []struct {
		model, toml string
		env         map[string]string
		want        string // the address and where it is from; or the error
	}{
		{"bedrock/amazon.nova-pro-v1:0", "", map[string]string{"AWS_CONFIG_FILE": aws}, "https://bedrock-runtime.eu-west-1.amazonaws.com " + aws + ":2"},
		{"bedrock/amazon.nova-pro-v1:0", "", map[string]string{"AWS_CONFIG_FILE": aws, "AWS_PROFILE": "work"}, "https://bedrock-runtime.us-west-2.amazonaws.com " + aws + ":5"},
		{"bedrock/amazon.nova-pro-v1:0", "", map[string]string{"AWS_CONFIG_FILE": aws, "AWS_REGION": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com env AWS_REGION"},
		{"bedrock/amazon.nova-pro-v1:0", "region='ca-central-1'", map[string]string{"AWS_REGION": "us-east-1"}, "https://bedrock-runtime.ca-central-1.amazonaws.com "},
		{"bedrock/amazon.nova-pro-v1:0", "", map[string]string{"AWS_CONFIG_FILE": aws + ".not"}, "needs a region"},
		{"bedrock/amazon.nova-pro-v1:0", "region='evil.test/'", nil, "which is none"},
		{"vertex/gemini-2.5-pro", "", google, "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global env GOOGLE_CLOUD_PROJECT"},
		{"vertex/claude-sonnet-4-5@20250929", "region='us-east5'\nproject='p-2'", google, "https://us-east5-aiplatform.googleapis.com/v1/projects/p-2/locations/us-east5 "},
		{"vertex/gemini-2.5-pro", "", nil, "needs a project"},
		{"vertex/gemini-2.5-pro", "project='a/b'", nil, "which is none"},
		{"vertex/llama-4", "", google, "on Vertex, Claude and Gemini are served"},
	} {
		cfg, _, err := load(Sources{File: file(t, "[llm]\n"+c.toml+"\n"), Env: only(c.env)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := cfg.Model(c.model)
		got := m.BaseURL + " " + m.BaseAt.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, %q, %v: %s\nwant %s", c.model, c.toml, c.env, got, c.want)
		}
		if err == nil && strings.HasPrefix(c.model, "vertex/") && !m.SignIn {
			t.Errorf("%s: Google gets no credentials", c.model)
		}
	}
}

// Google's credentials go to Google, and elsewhere only if the person says so.
func TestCredentialsOfGoogleGoToGoogle(t *testing.T) {
	for base, want := range map[string]bool{
		"https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5": true,
		"https://aiplatform.googleapis.com.evil.test/v1/projects/p/locations/global":  false,
		"http://aiplatform.googleapis.com/v1/projects/p/locations/global":             false,
	} {
		cfg, _, err := load(Sources{File: file(t, "[llm]\nmodel='vertex/gemini-2.5-pro'\nbase_url='"+base+"'\n"), Env: only(nil)})
		if err != nil {
			t.Fatal(err)
		}
		m, err := cfg.Model("")
		if err != nil || m.SignIn != want || !want && len(m.Notes) == 0 {
			t.Errorf("%s: credentials go there: %v, notes %q, error %v", base, m.SignIn, m.Notes, err)
		}
		journal, err := cfg.ModelAt("", "https://evil.test/v1/projects/p/locations/global")
		if err != nil || journal.SignIn {
			t.Errorf("credentials go where a session says: %v, error %v", journal.SignIn, err)
		}
	}
}

// only is an environment of these variables and a home directory with nothing
// in it.
func only(env map[string]string) Lookup {
	return func(name string) (string, bool) {
		if v, ok := env[name]; ok || name != "HOME" {
			return v, ok
		}
		return "/nowhere", true
	}
}

// The API of a model of Bedrock can be chosen, and none of its APIs is confused
// with those of other providers.
func TestWhatBedrockSpeaks(t *testing.T) {
	for _, c := range []struct{ model, api, want string }{
		{"bedrock/us.anthropic.claude-opus-4-5-20251101-v1:0", "converse", "converse"},
		{"bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/x", "messages", "messages"},
		{"bedrock/amazon.nova-pro-v1:0", "chat", ""},
		{"openai/gpt-5", "messages", `api = "messages" is not for openai: allowed: chat, responses`},
	} {
		cfg, _, err := load(Sources{File: file(t, "[llm]\nmodel='"+c.model+"'\napi='"+c.api+"'\n"), Env: only(map[string]string{"AWS_REGION": "us-east-1", "OPENAI_API_KEY": "k"})})
		if err != nil {
			t.Fatal(err)
		}
		m, err := cfg.Model("")
		got := m.API
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s with api %s: %q, want %q", c.model, c.api, got, c.want)
		}
	}
}
