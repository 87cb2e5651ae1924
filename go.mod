module github.com/openmanus-go/openmanus

go 1.26.0

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/kaptinlin/jsonrepair v0.2.15
)

require github.com/go-json-experiment/json v0.0.0-20251027170946-4849db3c2f7e // indirect
