package zoo

const gh = "github.com/"

// Conversations that rules are shown with.
const (
	ask      = `{"role":"user","content":"go"}`
	aCall    = `{"role":"assistant","content":"","tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	aResult  = `{"role":"tool","tool_call_id":"abcdefgh1","content":"seen"}`
	thinking = `{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"look","arguments":"{}"}}]}`
	done     = `{"role":"assistant","content":"Done."}`
	halfCall = `{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"look","arguments":"{\"a"}}]}`
	aPicture = `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + dot + `"}}]}`
	oddName  = `{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"look at","arguments":"{}"}}]}`
	noIdea   = `{"model":"m","messages":[` + ask + `],"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}}]}`

	// a picture of one pixel, and its beginning
	dot  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNiAAAABgADNjd8qAAAAABJRU5ErkJggg=="
	half = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6"

	openAIForm = `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`
	plainForm  = `{"error":%q}`
	codeForm   = `{"error":{"code":%d,"message":%q,"type":"invalid_request_error"}}`
)

// Rules that several servers have, with the words of each.
var (
	answersAll = func(from, says, with string) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: ask + "," + with + "," + ask, broken: unanswered}
	}
	answersNone = func(from, says string) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: ask + "," + aResult, broken: orphan}
	}
	argumentsParse = func(from string, status int, says string) Rule {
		return Rule{From: from, Status: status, Says: says, Bad: ask + "," + halfCall + "," + aResult, broken: noObject}
	}
	contentIsString = func(from, says string) Rule {
		return Rule{From: from, Status: 400, Says: says,
			Bad: ask + `,{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"look","arguments":"{}"}}]},` + aResult, broken: noString}
	}
	namesMatch = func(from, says, pattern string) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: ask + "," + oddName + "," + aResult, broken: name(pattern)}
	}
	repliesSpeak = func(from, says string) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: ask + `,{"role":"assistant","content":""},` + ask, broken: emptyReply}
	}
	hasUser = func(from, says string) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: `{"role":"system","content":"be terse"},` + done, broken: noUser}
	}
)

const (
	patternOfOpenAI = `^[a-zA-Z0-9_-]{1,64}$`
	saysPattern     = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
	allAnswered     = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	noneBefore      = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
	tooLongOpenAI   = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages."
)

// Servers returns all, each made anew.
func Servers() []Server {
	all := []Server{openAIChat(), openAIResponses(), anthropic(), geminiNative(), geminiChat()}
	return append(append(all, hosted()...), local()...)
}

// openAIRules are those of OpenAI's Chat Completions.
func openAIRules() []Rule {
	return []Rule{
		answersAll(gh+"langchain-ai/langchainjs/issues/6621", allAnswered, aCall),
		answersNone(gh+"FoundationAgents/OpenManus/issues/744", noneBefore),
		namesMatch(gh+"mcp-use/mcp-use/issues/90", "Invalid 'messages[1].tool_calls[0].function.name': "+saysPattern, patternOfOpenAI),
		{From: gh + "vercel/ai/issues/5171", Status: 400, Says: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40",
			Bad: ask + `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_0123456789012345678901234567890123456789","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0123456789012345678901234567890123456789","content":"seen"}`, broken: id(`^.{0,40}$`)},
		{From: gh + "aaif-goose/goose-mobile/pull/20", Status: 400, Says: "Invalid type for 'messages[2].tool_calls[0].function.arguments': expected a string, but got an object instead.",
			Bad: ask + `,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":{}}}]},{"role":"tool","tool_call_id":"a","content":"seen"}`, broken: noText},
		{From: gh + "songquanpeng/one-api/issues/784", Status: 400, Says: "Invalid value for 'content': expected a string, got null.",
			Bad: ask + `,{"role":"assistant","content":null},` + ask, broken: nullContent},
		{From: gh + "ogx-ai/ogx/issues/3004", Status: 400, Says: "", Bad: noIdea, broken: schema(OpenAI)},
	}
}

func openAIChat() Server {
	return Server{Name: "OpenAI Chat Completions", Provider: "openai", API: "chat", Model: "gpt-4.1", wire: chat, form: openAIForm,
		Rules: openAIRules(), long: Rule{Status: 400, Says: tooLongOpenAI}}
}

func openAIResponses() Server {
	call := `{"type":"function_call","call_id":"a","name":"look","arguments":"{}"}`
	result := `{"type":"function_call_output","call_id":"a","output":"seen"}`
	you := `{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`
	return Server{Name: "OpenAI Responses", Provider: "openai", API: "responses", Model: "gpt-5", wire: responses, form: openAIForm, Rules: []Rule{
		{From: gh + "RooCodeInc/Roo-Code/issues/12248", Status: 400, Says: "No tool output found for function call", Bad: you + "," + call + "," + you, broken: unanswered},
		{From: gh + "continuedev/continue/issues/10092", Status: 400, Says: "No tool call found for function call output with call_id", Bad: you + "," + result, broken: orphan},
		{From: gh + "AnswerDotAI/fastllm/issues/45", Status: 400, Says: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64",
			Bad: `{"type":"function_call","call_id":"01234567890123456789012345678901234567890123456789012345678901234","name":"look","arguments":"{}"},{"type":"function_call_output","call_id":"01234567890123456789012345678901234567890123456789012345678901234","output":"seen"}`, broken: id(`^.{0,64}$`)},
		{From: gh + "vercel/ai/issues/7099", Status: 400, Says: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
			Bad: you + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA"},` + you, broken: bareReasoning},
		{From: gh + "newo-ether/Agora/issues/141", Status: 400, Says: "Input[1] missing required field `summary`",
			Bad: you + `,{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA"},` + call + "," + result, broken: noSummary},
		{From: gh + "openai/codex/issues/8145", Status: 400, Says: "The encrypted content gAAA...DQ== could not be verified.",
			Bad: you + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"of another model"},` + call + "," + result, broken: sealedByOthers},
		{From: gh + "Chevey339/kelivo/pull/281", Status: 400, Says: "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
			Bad: `{"type":"message","role":"tool","content":[]}`, broken: role("assistant", "system", "developer", "user")},
		{From: gh + "local-inference-lab/vllm/issues/684", Status: 400, Says: "Expecting value: line 1 column 11 (char 10)",
			Bad: you + `,{"type":"function_call","call_id":"a","name":"look","arguments":"{\"a"},` + result, broken: noObject},
		{From: gh + "mcp-use/mcp-use/issues/90", Status: 400, Says: "Invalid 'input[1].name': " + saysPattern,
			Bad: you + `,{"type":"function_call","call_id":"a","name":"look at","arguments":"{}"},` + result, broken: name(patternOfOpenAI)},
	}, long: Rule{Status: 400, Says: "Your input exceeds the context window of this model. Please adjust your input and try again."}}
}

func anthropic() Server {
	you := `{"role":"user","content":[{"type":"text","text":"go"}]}`
	use := func(name, id, input, more string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + more + `}]}`
	}
	call := use("look", "a", "{}", "")
	found := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"seen"}]}]}`
	seen := func(data string) string {
		return `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}`
	}
	rule := func(from, says, bad string, b breaks) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: bad, broken: b}
	}
	cc := gh + "anthropics/claude-code/issues/"
	return Server{Name: "Anthropic", Provider: "anthropic", Model: "claude-sonnet-4-5", Effort: true, wire: messages,
		form: `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, Rules: []Rule{
			rule(cc+"6774", "messages.1: all messages must have non-empty content except for the optional final assistant message", you+`,{"role":"assistant","content":[]},`+you,
				anyMessage(func(m message) bool { return len(m.blocks) == 0 && len(m.texts) == 0 })),
			rule(gh+"aliasrobotics/cai/issues/182", "messages: text content blocks must be non-empty", you+`,{"role":"assistant","content":[{"type":"text","text":""}]},`+you, emptyText),
			rule(cc+"8210", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:", you+","+call+","+you, unanswered),
			rule(cc+"64383", "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks:", you+","+found, orphan),
			rule(gh+"Ironclad/rivet/issues/487", "messages.2: Did not find 1 `tool_result` block(s) at the beginning of this message.",
				you+","+call+`,{"role":"user","content":[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"a","content":"seen"}]}`, resultsLate),
			rule(gh+"maximhq/bifrost/issues/5097", "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
				you+","+use("look", "functions.Bash:0", "{}", "")+`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions.Bash:0","content":"seen"}]}`, id(`^[a-zA-Z0-9_-]+$`)),
			rule(cc+"6696", "messages.1.content.0.tool_use.input: Input should be a valid dictionary", you+","+use("look", "a", "[]", "")+","+found, textForObject),
			rule(cc+"2673", "messages.1.content.0.tool_use.name: String should have at most 200 characters", you+","+use("git diff of everything that I have changed in the last two days, and of what others have changed, with names of the files, the numbers of the lines, and for each of them who has changed it, when, and why they did", "a", "{}", "")+","+found, name(`^.{1,200}$`)),
			rule(cc+"4378", "messages.1.content.0.tool_use.text: Extra inputs are not permitted", you+","+use("look", "a", "{}", `,"text":""`)+","+found, strange),
			rule(cc+"10627", "messages.1.content.0: Invalid `signature` in `thinking` block",
				you+`,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"of another"},{"type":"text","text":"ok"}]},`+you, forged),
			rule(gh+"lbjlaq/Antigravity-Manager/issues/139", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
				`{"model":"m","thinking":{"type":"enabled","budget_tokens":1024},"messages":[`+you+","+call+","+found+`]}`, thoughtless),
			rule(gh+"tailcallhq/forgecode/issues/2107", "The final block in an assistant message cannot be `thinking`.",
				you+`,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"EqsB"}]},`+you, endsThinking),
			rule(gh+"tailcallhq/forgecode/issues/1872", "messages: final assistant content cannot end with trailing whitespace", you+`,{"role":"assistant","content":[{"type":"text","text":"so "}]}`, trailing),
			rule(gh+"smallmain/vscode-unify-chat-provider/issues/249", "This model does not support assistant message prefill. The conversation must end with a user message.",
				you+`,{"role":"assistant","content":[{"type":"text","text":"so"}]}`, endsWith("assistant", 1)),
			rule(cc+"25592", "messages.0.content.0.image.source.base64.data: Could not process image", seen(half), unreadable),
			rule(cc+"4778", "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", seen(WidePicture(8001)), larger(8000, 0)),
			rule(cc+"49537", "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
				repeated(seen(WidePicture(2001)), 21), larger(2000, 20)),
			rule(gh+"tghamm/Anthropic.SDK/issues/50", "A maximum of 4 blocks with cache_control may be provided. Found",
				repeated(`{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]}`, 5), marks),
			rule(cc+"63673", "", `{"model":"m","messages":[`+you+`],"tools":[{"name":"look","input_schema":{"type":"object","properties":{"a":{"type":"nothing"}}}}]}`, schema(Anthropic)),
		}, long: Rule{Status: 400, Says: "prompt is too long: 210000 tokens > 200000 maximum"}}
}

func geminiNative() Server {
	you, said := `{"role":"user","parts":[{"text":"go"}]}`, `{"role":"model","parts":[{"text":"ok"}]}`
	call := func(name, signature string) string {
		return `{"role":"model","parts":[{"functionCall":{"name":"` + name + `","args":{}}` + signature + `}]}`
	}
	signed := `,"thoughtSignature":"c2ln"`
	found := `{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"seen"}}}]}`
	rule := func(from, says, bad string, b breaks) Rule {
		return Rule{From: from, Status: 400, Says: says, Bad: bad, broken: b}
	}
	return Server{Name: "Gemini", Provider: "google", Model: "gemini-3-pro-preview", wire: gemini,
		form: `{"error":{"code":%d,"message":%q,"status":"INVALID_ARGUMENT"}}`, Rules: []Rule{
			rule(gh+"egoist/chatwise-releases/issues/250", "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.", you+`,{"role":"model","parts":[]},`+you, noParts),
			rule(gh+"google-gemini/gemini-cli/issues/11814", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", you+","+said+","+call("look", signed)+","+found, callTurn),
			rule(gh+"langchain-ai/langchain/issues/27799", "Please ensure that function response turn comes immediately after a function call turn.", you+","+call("look", signed)+","+you+","+found, resultTurn),
			rule(gh+"google-gemini/gemini-cli/issues/5443", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
				you+`,{"role":"model","parts":[{"functionCall":{"name":"look","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"look","args":{}}}]},`+found, uneven),
			rule(gh+"nanbingxyz/5ire/issues/405", "Function call is missing a thought_signature in functionCall parts.", you+","+call("look", "")+","+found, unsigned),
			rule(gh+"anomalyco/opencode/issues/4832", "Corrupted thought signature.", you+","+call("look", `,"thoughtSignature":"of another"`)+","+found, corrupt),
			rule(gh+"kaitranntt/ccs/issues/25", "[FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
				you+","+call("look at", signed)+`,{"role":"user","parts":[{"functionResponse":{"name":"look at","response":{"output":"seen"}}}]}`, name(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)),
			rule(gh+"nanbingxyz/5ire/issues/42", "", `{"contents":[`+you+`],"tools":[{"functionDeclarations":[{"name":"look","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"array"}}}}]}]}`, schema(Gemini)),
		}, long: Rule{Status: 400, Says: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}
}

func geminiChat() Server {
	signed := `{"role":"assistant","content":"","tool_calls":[{"id":"abcdefgh1","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"look","arguments":"{}"}}]}`
	return Server{Name: "Gemini, OpenAI's way", Provider: "compat", Model: "gemini-3-flash", wire: chat, form: `[{"error":{"code":%d,"message":%q,"status":"INVALID_ARGUMENT"}}]`,
		gives: gives{signature: true}, Rules: []Rule{
			{From: gh + "openai/openai-python/issues/2758", Status: 400, Says: "Function call is missing a thought_signature in functionCall parts.", Bad: ask + "," + aCall + "," + aResult, broken: gone("extra_content", "google", "thought_signature"), own: true},
			answersAll(gh+"lobehub/lobehub/issues/7298", "Please ensure that function response turn comes immediately after a function call turn.", signed),
			answersNone(gh+"BerriAI/litellm/issues/26755", "Please ensure that function response turn comes immediately after a function call turn."),
			{From: gh + "microsoft/vscode-copilot-release/issues/7928", Status: 400, Says: "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.",
				Bad: ask + `,{"role":"assistant","content":"","tool_calls":[{"id":"abcdefgh1","type":"function","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"look at","arguments":"{}"}}]},` + aResult, broken: name(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)},
		}, long: Rule{Status: 400, Says: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}
}

// hosted returns the services that speak Chat Completions.
func hosted() []Server {
	qwen := `{"error":{"code":"invalid_parameter_error","message":%q,"param":null,"type":"invalid_request_error"},"request_id":"x"}`
	known := []string{"role", "content", "tool_calls", "prefix", "id", "type", "function", "index"}
	return []Server{
		{Name: "DeepSeek", Provider: "deepseek", Model: "deepseek-v4-pro", wire: chat, form: openAIForm, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			{From: gh + "earendil-works/pi/issues/3636", Status: 400, Says: "The `reasoning_content` in the thinking mode must be passed back to the API.", Bad: ask + "," + aCall + "," + aResult, broken: gone("reasoning_content"), own: true},
			answersAll(gh+"xuzhougeng/wisp-science/issues/74", allAnswered+" (insufficient tool messages following tool_calls message)", thinking),
			answersNone(gh+"FoundationAgents/OpenManus/issues/744", noneBefore),
			{From: gh + "huggingface/smolagents/issues/1158", Status: 400, Says: "Failed to deserialize the JSON body into the target type: messages[1]: invalid type: sequence, expected a string", Bad: aPicture, broken: listContent},
			namesMatch(gh+"mcp-use/mcp-use/issues/90", "Invalid 'messages[1].tool_calls[0].function.name': "+saysPattern, patternOfOpenAI),
		}, long: Rule{Status: 400, Says: "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens."}},
		{Name: "Kimi", Provider: "moonshot", Model: "kimi-k2.6", wire: chat, form: `{"error":{"message":%q,"type":"invalid_request_error"}}`, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			{From: gh + "mastra-ai/mastra/issues/12592", Status: 400, Says: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1", Bad: ask + "," + aCall + "," + aResult, broken: gone("reasoning_content"), own: true},
			repliesSpeak(gh+"MoonshotAI/kimi-code/issues/1985", "Invalid request: the message at position 1 with role 'assistant' must not be empty"),
			answersAll(gh+"langchain-ai/langchainjs/issues/6621", allAnswered, thinking),
		}, long: Rule{Status: 400, Says: "Invalid request: Your request exceeded model token limit: 262144"}},
		{Name: "Qwen", Provider: "dashscope", Model: "qwen3-coder-plus", wire: chat, form: qwen, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			answersAll(gh+"QwenLM/qwen-code/issues/315", `<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id".`, aCall),
			answersNone(gh+"QwenLM/qwen-code/issues/2360", `<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceeding message with "tool_calls".`),
			argumentsParse(gh+"HKUDS/nanobot/issues/1487", 400, `<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.`),
		}, long: Rule{Status: 400, Says: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"}},
		{Name: "GLM", Provider: "zhipu", Model: "glm-4.7", wire: chat, form: `{"error":{"code":"1214","message":%q}}`, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			hasUser(gh+"anomalyco/opencode/issues/2557", "The messages parameter is illegal. Please check the documentation."),
			repliesSpeak(gh+"songquanpeng/one-api/issues/1153", "messages[1]:content和tool_calls 字段不能同时为空"),
			answersAll(gh+"BigPizzaV3/CodexPlusPlus/issues/329", allAnswered, aCall),
		}, long: Rule{Status: 400, Says: "Prompt exceeds max length"}},
		{Name: "Mistral", Provider: "mistral", Model: "magistral-medium-2509", wire: chat, form: `{"object":"error","message":%q,"type":"invalid_request_message_order","param":null,"code":"3230"}`, gives: gives{chunks: true}, Rules: []Rule{
			{From: gh + "charmbracelet/crush/issues/1590", Status: 422, Says: "Extra inputs are not permitted: body, messages, 1, assistant, reasoning_content", Bad: ask + "," + thinking + "," + aResult, broken: beyond(known...)},
			{From: gh + "datapizza-labs/datapizza-ai/issues/98", Status: 400, Says: "Unexpected role 'user' after role 'tool'", Bad: ask + "," + aCall + "," + aResult + "," + ask, broken: after("user", "tool")},
			{From: gh + "charmbracelet/crush/issues/279", Status: 400, Says: "Unexpected role 'tool' after role 'user'", Bad: ask + "," + aResult, broken: after("tool", "user", "system")},
			{From: gh + "anomalyco/opencode/issues/1680", Status: 400, Says: "Tool call id was call_PTLP8xhu3uwZk4l3nlnrrJha but must be a-z, A-Z, 0-9, with a length of 9.",
				Bad: ask + `,{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"seen"}`, broken: id(`^[a-zA-Z0-9]{9}$`)},
			answersAll(gh+"mistralai/client-ts/issues/106", "Not the same number of function calls and responses", aCall),
			{From: gh + "OpenHands/OpenHands/issues/8685", Status: 400, Says: "Assistant message must have either content or tool_calls, but not none.", Bad: ask + `,{"role":"assistant","content":""},` + ask, broken: emptyReply},
		}, long: Rule{Status: 400, Says: "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length"}},
		{Name: "xAI", Provider: "xai", Model: "grok-4", wire: chat, form: `{"code":"Client specified an invalid argument","error":%q}`, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			{From: gh + "langchain-ai/langchain/issues/34140", Status: 400, Says: "Invalid request content: Each message must have at least one content element.",
				Bad: ask + `,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"seen"}`, broken: noContent},
			{From: gh + "langbot-app/LangBot/issues/1205", Status: 400, Says: "An empty message was provided. Every message needs at least one non-empty content element.", Bad: `{"role":"user","content":""}`, broken: anyEmpty},
			answersAll(gh+"langchain-ai/langchainjs/issues/6621", allAnswered, aCall),
		}, long: Rule{Status: 400, Says: "This model's maximum prompt length is 256000 but the request contains 300000 tokens."}},
		{Name: "OpenRouter", Provider: "openrouter", Model: "google/gemini-3-flash-preview", wire: chat, form: `{"error":{"message":"Provider returned error","code":%d,"metadata":{"raw":%q,"provider_name":"Google AI Studio"}}}`,
			gives: gives{thought: "reasoning", details: true}, Rules: []Rule{
				{From: gh + "massgen/MassGen/issues/624", Status: 400, Says: "Gemini models require OpenRouter reasoning details to be preserved in each request.", Bad: ask + "," + aCall + "," + aResult, broken: detailsGone, own: true},
				{From: gh + "nextcloud/context_agent/issues/140", Status: 400, Says: "No tool call found for function call output with call_id", Bad: ask + "," + aResult, broken: orphan},
			}, long: Rule{Status: 400, Says: "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens."}},
		{Name: "Groq", Provider: "groq", Model: "openai/gpt-oss-120b", wire: chat, form: openAIForm, gives: gives{thought: "reasoning"}, Rules: []Rule{
			contentIsString(gh+"tidyverse/ellmer/issues/162", "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1.content' : value must be a string)]"),
			{From: gh + "SimonSchubert/Kai/issues/265", Status: 400, Says: "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]", Bad: ask + "," + thinking + "," + aResult, broken: field("reasoning_content")},
			{From: gh + "karthink/gptel/issues/774", Status: 400, Says: "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' is unsupported, did you mean 'role'?)]",
				Bad: ask + `,{"role":"assistant","content":"ok","reasoning":"hm"},` + ask, broken: field("reasoning")},
			answersAll(gh+"langchain-ai/langchainjs/issues/6621", allAnswered, aCall),
		}, long: Rule{Status: 400, Says: "Please reduce the length of the messages or completion."}},
	}
}

// local returns the servers that people run themselves.
func local() []Server {
	qwenTemplate := `Error rendering prompt with jinja template: "No user query found in messages.".`
	return []Server{
		{Name: "vLLM", Provider: "compat", Model: "Qwen/Qwen3.5-27B", wire: chat, form: `{"error":{"message":%q,"type":"BadRequestError","param":null,"code":%d}}`, gives: gives{thought: "reasoning"}, Rules: []Rule{
			argumentsParse(gh+"vllm-project/vllm/issues/43995", 400, "Expecting ',' delimiter: line 1 column 54 (char 53)"),
			hasUser(gh+"vllm-project/vllm/issues/36432", "No user query found in messages."),
		}, long: Rule{Status: 400, Says: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages."}},
		{Name: "vLLM with a template of Mistral's", Provider: "compat", Model: "mistralai/Ministral-3-8B", wire: chat, form: `{"error":{"message":%q,"type":"BadRequestError","param":null,"code":%d}}`, Rules: []Rule{
			{From: gh + "microsoft/autogen/issues/3597", Status: 400, Says: "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...", Bad: ask + "," + ask, broken: alternates(true)},
			argumentsParse(gh+"vllm-project/vllm/issues/43995", 400, "Expecting ',' delimiter: line 1 column 54 (char 53)"),
			{From: gh + "ml-explore/mlx-lm/issues/1375", Status: 400, Says: "Tool call IDs should be alphanumeric strings with length 9!",
				Bad: ask + `,{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"seen"}`, broken: id(`^[a-zA-Z0-9]{9}$`)},
		}, long: Rule{Status: 400, Says: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages."}},
		{Name: "llama.cpp", Provider: "compat", Model: "qwen3.6", wire: chat, form: codeForm, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			argumentsParse(gh+"ggml-org/llama.cpp/issues/25510", 500, "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing object key - unexpected end of input; expected string literal"),
			hasUser(gh+"vllm-project/vllm/issues/36432", "Jinja Exception: No user query found in messages."),
			{From: gh + "amd/gaia/issues/1667", Status: 400, Says: "Cannot have 2 or more assistant messages at the end of the list.", Bad: ask + "," + done + "," + done, broken: endsWith("assistant", 2)},
			{From: gh + "ggml-org/llama.cpp/issues/20861", Status: 400, Says: "Assistant response prefill is incompatible with enable_thinking.", Bad: ask + "," + done, broken: endsWith("assistant", 1)},
			{From: gh + "joshuadavidthomas/opencode-agent-memory/issues/11", Status: 500, Says: "Jinja Exception: System message must be at the beginning.", Bad: ask + `,{"role":"system","content":"be terse"},` + ask, broken: lateSystem},
			{From: gh + "ggml-org/llama.cpp/issues/13566", Status: 500, Says: "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", Bad: aPicture, broken: pictures},
		}, long: Rule{Status: 400, Says: "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it"}},
		{Name: "LM Studio", Provider: "compat", Model: "qwen/qwen3.5-9b", wire: chat, form: plainForm, gives: gives{thought: "reasoning_content"}, Rules: []Rule{
			contentIsString(gh+"lmstudio-ai/lmstudio-bug-tracker/issues/261", "Invalid 'content': 'content' field must be a string or an array of objects."),
			hasUser(gh+"lmstudio-ai/lmstudio-bug-tracker/issues/1572", qwenTemplate),
			repliesSpeak(gh+"continuedev/continue/issues/750", "'messages' array must only contain objects with a 'content' field that is not empty"),
		}, long: Rule{Status: 400, Says: "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens"}},
		{Name: "Ollama", Provider: "ollama", Model: "qwen3", wire: ollama, form: plainForm, Rules: []Rule{
			{From: gh + "neuron-core/neuron-ai/issues/219", Status: 400, Says: "json: cannot unmarshal string into Go struct field ChatRequest.messages of type api.ToolCallFunctionArguments",
				Bad: ask + `,{"role":"assistant","content":"","tool_calls":[{"function":{"name":"look","arguments":"{}"}}]}`, broken: textForObject},
			{From: gh + "BerriAI/litellm/issues/10127", Status: 400, Says: "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string", Bad: aPicture, broken: listContent},
		}, long: Rule{Status: 400, Says: "the input length exceeds the context length"}},
		{Name: "Ollama, OpenAI's way", Provider: "compat", Model: "gpt-oss:20b", wire: chat, form: openAIForm, gives: gives{thought: "reasoning"}, Rules: []Rule{
			argumentsParse(gh+"ollama/ollama/pull/11759", 400, "invalid tool call arguments"),
		}, long: Rule{Status: 400, Says: "the input length exceeds the context length"}},
		{Name: "TGI", Provider: "compat", Model: "meta-llama/Llama-3.3-70B", wire: chat, form: `{"error":%q,"error_type":"validation"}`, Rules: []Rule{
			{From: gh + "huggingface/text-generation-inference/pull/3021", Status: 422, Says: "Failed to deserialize the JSON body into the target type: messages[1]: missing field `content`",
				Bad: ask + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`, broken: withoutContent},
		}, long: Rule{Status: 422, Says: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 512 `max_new_tokens`"}},
	}
}

// Unlike is a server whose template knows neither tools nor neighbours of one role, such as
// one of Gemma 3: no adapter can please it, and no session with tools ends at it.
func Unlike() Server {
	return Server{Name: "TGI with Gemma 3", Provider: "compat", Model: "google/gemma-3-12b-it", wire: chat, form: `{"error":%q,"error_type":"template_error"}`, Rules: []Rule{
		{From: gh + "huggingface/text-generation-inference/issues/3198", Status: 422, Says: "Template error: syntax error: Conversation roles must alternate user/assistant/user/assistant/", Bad: ask + "," + aCall + "," + aResult, broken: alternates(false)},
	}, long: Rule{Status: 422, Says: "Input validation error: `inputs` must have less than 8192 tokens. Given: 9000"}}
}
