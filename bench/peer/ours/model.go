package main

import (
	"github.com/openmanus-go/openmanus/bench/peer"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/openai"
)

// model is the adapter, wrapped as the product wraps it.
func model(c peer.Config) llm.Model {
	return llm.Retry(openai.New(openai.Options{Model: c.Model, BaseURL: c.URL, Key: peer.Key}), llm.RetryOptions{})
}
