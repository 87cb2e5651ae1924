package wire

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/openmanus-go/openmanus/llm"
)

// In whatever words and with whatever status a server refuses images, the refusal is one,
// and no reason to ask the same again.
func TestRefusedImages(t *testing.T) {
	message := func(text string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, text) }
	for _, c := range []struct {
		who    string
		status int
		body   string
		want   llm.Images
	}{
		{"llama.cpp", 500, message("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"), llm.NoImages},
		{"llama.cpp, later", 400, message("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"), llm.NoImages},
		{"OpenAI", 400, message("Invalid content type. image_url is only supported by certain models."), llm.NoImages},
		{"Ollama", 400, `{"error":"this model does not support image input"}`, llm.NoImages},
		{"Ollama, older", 500, `{"error":"this model is missing data required for image input"}`, llm.NoImages},
		{"LM Studio", 400, `{"error":"Model does not support images. Please use a model that does."}`, llm.NoImages},
		{"vLLM", 400, message("At most 0 image(s) may be provided in one prompt."), llm.NoImages},
		{"vLLM, older", 400, message("qwen3 is not a multimodal model"), llm.NoImages},
		{"OpenRouter", 404, message("No endpoints found that support image input"), llm.NoImages},
		{"Groq", 400, message("'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a string)]"), llm.NoImages},
		{"DeepSeek", 400, message("Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`"), llm.NoImages},
		{"Moonshot", 400, message("Image input not supported for model moonshot-v1-8k"), llm.NoImages},
		{"GLM", 400, message("messages.content.type 参数非法，取值范围 ['text']"), llm.NoImages},
		{"Cerebras", 400, message("Content type image_url is not supported by model llama3.1-8b"), llm.NoImages},
		{"Bedrock", 400, `{"message":"The model doesn't support the image content block that you provided."}`, llm.NoImages},
		{"Google", 400, message("Image input modality is not enabled for models/gemma-3-1b-it"), llm.NoImages},
		{"xAI", 400, message("Image inputs are not supported by this model."), llm.NoImages},
		{"Mistral", 400, message("Image input is not enabled for this model"), llm.NoImages},

		{"Anthropic", 400, message("messages.3.content.1.image.source.base64.data: Could not process image"), llm.BadImages},
		{"Anthropic, size", 400, message("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6915432 bytes > 5242880 bytes"), llm.BadImages},
		{"Anthropic, side", 400, message("messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"), llm.BadImages},
		{"Anthropic, type", 400, message("The image was specified using the image/png media type, but does not appear to be a valid png image"), llm.BadImages},
		{"OpenAI, format", 400, message("You uploaded an unsupported image. Please make sure your image is valid."), llm.BadImages},
		{"OpenAI, data", 400, message("The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats"), llm.BadImages},
		{"OpenAI, code", 400, `{"error":{"message":"Something is wrong.","code":"image_parse_error"}}`, llm.BadImages},
		{"Google, data", 400, message("Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"), llm.BadImages},
		{"vLLM, data", 400, message("cannot identify image file <_io.BytesIO object at 0x7f>"), llm.BadImages},
		{"vLLM, fault", 500, message("image file is truncated (3 bytes not processed)"), llm.BadImages},
		{"llama.cpp, data", 400, message("Failed to load image or audio file"), llm.BadImages},
		{"Groq, many", 400, message("Too many images provided. This model supports up to 5 images"), llm.BadImages},

		{"another 500", 500, message("the container image is gone"), ""},
		{"a wrong key", 401, message("image models need a key"), ""},
		{"too many requests", 429, message("too many images in a minute"), ""},
		{"too long", 400, message("This model's maximum context length is 8192 tokens; your messages and images have 9000"), ""},
		{"another 400", 400, message("temperature must be at most 2"), ""},
		{"nothing about images", 404, message("No endpoints found that support tool use"), ""},
	} {
		e, _ := Refusal(c.status, http.Header{}, []byte(c.body))
		if e.Images != c.want {
			t.Errorf("%s: images %q, want %q", c.who, e.Images, c.want)
		}
		e.Err = http.ErrNoLocation
		if c.want != "" && (e.Kind != llm.Protocol || e.Temporary()) {
			t.Errorf("%s: kind %s, temporary %v", c.who, e.Kind, e.Temporary())
		}
	}
}
