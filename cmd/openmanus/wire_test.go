package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// TestForeignServer runs the binary against a server that we did not write and
// that speaks as each provider does, in pieces of three characters: the same
// task has the same outcome on every wire.
func TestForeignServer(t *testing.T) {
	fixtures, err := os.ReadFile("testdata/aimock/report.json")
	if err != nil {
		t.Fatal(err)
	}
	url := llmtest.Aimock(t, string(fixtures), "--chunk-size", "3")
	bedrock := []string{"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=not-a-key-at-all",
		"OPENMANUS_LLM_MODEL=bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", "OPENMANUS_LLM_BASE_URL=" + url}
	for _, c := range []struct {
		model string
		env   []string
	}{
		{"bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock},
		{"bedrock/amazon.nova-pro-v1:0", bedrock},
		{"openai/gpt-4.1", []string{"OPENAI_API_KEY=not-a-key-at-all", "OPENAI_BASE_URL=" + url + "/v1"}},
		{"openai/gpt-5", []string{"OPENAI_API_KEY=not-a-key-at-all", "OPENAI_BASE_URL=" + url + "/v1", "OPENMANUS_LLM_API=responses"}},
		{"anthropic/claude-sonnet-4-5", []string{"ANTHROPIC_API_KEY=not-a-key-at-all", "ANTHROPIC_BASE_URL=" + url}},
		{"google/gemini-2.5-pro", []string{"GEMINI_API_KEY=not-a-key-at-all", "GOOGLE_GEMINI_BASE_URL=" + url}},
		{"ollama/qwen3", []string{"OLLAMA_HOST=" + url}},
		{"azure/gpt-4.1", []string{"AZURE_OPENAI_API_KEY=not-a-key-at-all", "AZURE_OPENAI_ENDPOINT=" + url, "OPENAI_API_VERSION=2024-10-21"}},
	} {
		t.Run(c.model, func(t *testing.T) { report(t, c.model, c.env) })
	}
}

// report has the model write its report.
func report(t *testing.T, model string, env []string) {
	dir := t.TempDir()
	cmd := exec.Command("openmanus", "run", "--model", model, "--approve", "edits", "What are the best months?")
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME="), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	if string(out) != "June was best: see report.md.\n" {
		t.Errorf("standard output: %q", out)
	}
	want := "| month |\n|---|\n| 2025-06 <é> |\n"
	if data, err := os.ReadFile(filepath.Join(dir, "report.md")); string(data) != want {
		t.Errorf("report.md: %q, %v", data, err)
	}
}
