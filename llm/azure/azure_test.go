package azure

import "testing"

func TestDeployment(t *testing.T) {
	for _, c := range []struct{ base, version, want string }{
		{"https://r.openai.azure.com", "", "https://r.openai.azure.com/openai/v1"},
		{"https://r.openai.azure.com/", "2025-01-01", "https://r.openai.azure.com/openai/deployments/gpt-5%2Fx?api-version=2025-01-01"},
		{"https://r.openai.azure.com/openai", "2025-01-01", "https://r.openai.azure.com/openai/deployments/gpt-5%2Fx?api-version=2025-01-01"},
		{"https://r.openai.azure.com/openai/v1", "", "https://r.openai.azure.com/openai/v1"},
		{"https://r.openai.azure.com/openai/deployments/d", "", "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21"},
		{"https://r.openai.azure.com/openai/deployments/d", "a b", "https://r.openai.azure.com/openai/deployments/d?api-version=a+b"},
	} {
		if got := deployment(c.base, c.version, "gpt-5/x"); got != c.want {
			t.Errorf("%s, version %q: %s, want %s", c.base, c.version, got, c.want)
		}
	}
}
