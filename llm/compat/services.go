package compat

import (
	"path"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
	"github.com/openmanus-go/openmanus/llm/provider"
)

// services are OpenAI-compatible services that people have keys for, in the order in
// which a key is chosen. The models are those that a person may begin with, written
// down on 2026-11-29 from the table of charm.land/catwalk v0.52.1; for mistral, dashscope
// and together, which it lacks, a name that the service keeps for its current model or
// one with open weights.
var services = []struct {
	name, title, key, address string
	hosts                     []string // besides that of the address
	model, page               string   // page is where a key is made, if we know it
}{
	{"openrouter", "OpenRouter", "OPENROUTER", "https://openrouter.ai/api/v1", nil, "anthropic/claude-sonnet-4.6", "https://openrouter.ai/settings/keys"},
	{"deepseek", "DeepSeek", "DEEPSEEK", "https://api.deepseek.com/v1", nil, "deepseek-v4-flash", "https://platform.deepseek.com/api_keys"},
	{"mistral", "Mistral", "MISTRAL", "https://api.mistral.ai/v1", nil, "mistral-medium-latest", "https://console.mistral.ai/api-keys"},
	{"groq", "Groq", "GROQ", "https://api.groq.com/openai/v1", nil, "openai/gpt-oss-120b", "https://console.groq.com/keys"},
	{"xai", "xAI", "XAI", "https://api.x.ai/v1", nil, "grok-4.5", "https://console.x.ai"},
	{"moonshot", "Moonshot (Kimi)", "MOONSHOT", "https://api.moonshot.ai/v1", []string{"api.moonshot.cn"}, "kimi-k2.7-code", "https://platform.moonshot.ai/console/api-keys"},
	{"dashscope", "DashScope (Qwen)", "DASHSCOPE", "https://dashscope.aliyuncs.com/compatible-mode/v1",
		[]string{"dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, "qwen-plus", ""},
	{"zhipu", "Zhipu (GLM)", "ZHIPU", "https://open.bigmodel.cn/api/paas/v4", []string{"api.z.ai"}, "glm-4.7", "https://open.bigmodel.cn/usercenter/apikeys"},
	{"together", "Together AI", "TOGETHER", "https://api.together.xyz/v1", []string{"api.together.ai"}, "openai/gpt-oss-120b", "https://api.together.ai/settings/api-keys"},
	{"fireworks", "Fireworks AI", "FIREWORKS", "https://api.fireworks.ai/inference/v1", nil, "accounts/fireworks/models/gpt-oss-120b", ""},
	{"cerebras", "Cerebras", "CEREBRAS", "https://api.cerebras.ai/v1", nil, "gpt-oss-120b", "https://cloud.cerebras.ai"},
}

// Services describes the services that have a name of their own: NAME/MODEL is asked
// there with the key in NAME_API_KEY. NAME_BASE_URL moves the address.
func Services() provider.List {
	var list provider.List
	for _, s := range services {
		list = append(list, &provider.Provider{
			Name:      s.name,
			Title:     s.title,
			KeyPage:   s.page,
			Service:   true,
			Suggested: s.model,
			BaseURL:   s.address,
			BaseVars:  []string{s.key + "_BASE_URL"},
			Hosts:     append([]string{provider.Host(s.address)}, s.hosts...),
			KeyVars:   []string{s.key + "_API_KEY"},
			APIs:      []string{openai.Chat},
			Lists:     true,
			Maker:     maker,
			New: func(o provider.Options) (llm.Model, error) {
				if s.name == "groq" && o.Thoughts == "" { // it refuses what it gave
					o.Thoughts = "none"
				}
				return openai.New(openai.From(o)), nil
			},
		})
	}
	return list
}

// maker is [provider.Provider].Maker for names such as MAKER/MODEL.
func maker(model string) (maker, name string) { return "compat", path.Base(model) }
