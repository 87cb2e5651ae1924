package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// cloudVariables are variables of other programs that say where models of a
// cloud are.
func cloudVariables() []string {
	return []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_PROFILE", "HOME", "USERPROFILE",
		"GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION"}
}

// bedrockAddress finds where m of Bedrock is.
func (c *Config) bedrockAddress(s endpoint, m *Model) error {
	region := c.awsRegion(s)
	if region.text == "" {
		return fmt.Errorf("%s needs a region: set [llm] region, AWS_REGION, or region in ~/.aws/config; or [llm] base_url to https://bedrock-runtime.REGION.amazonaws.com", m)
	}
	m.BaseURL, m.BaseAt = "https://bedrock-runtime."+region.text+".amazonaws.com", region.at
	return c.checkedRegion(m, region)
}

// awsRegion is the region that AWS' own tools would take, unless [llm] names
// one.
func (c *Config) awsRegion(s endpoint) sourced {
	if s.region.text != "" {
		return s.region
	}
	if at := c.ambientFirst("AWS_REGION", "AWS_DEFAULT_REGION"); at.text != "" {
		return at
	}
	path := c.ambient["AWS_CONFIG_FILE"]
	if home := or(c.ambient["HOME"], c.ambient["USERPROFILE"]); path == "" && home != "" {
		path = filepath.Join(home, ".aws", "config")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return sourced{} // as if there were none: what is missing is said, with this place
	}
	region, line := iniRegion(string(text), or(c.ambient["AWS_PROFILE"], "default"))
	return sourced{region, Source{From: File, Name: path, Line: line}}
}

// iniRegion is the region of a profile in a file of AWS' tools, and the line
// that it is in.
func iniRegion(text, profile string) (region string, line int) {
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

// vertexAddress finds where m of Vertex is: in a project, at a location.
func (c *Config) vertexAddress(s endpoint, m *Model) error {
	project, location := s.project, s.region
	if project.text == "" {
		project = c.ambientFirst("GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
	}
	if location.text == "" {
		location = c.ambientFirst("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION")
	}
	if project.text == "" {
		return fmt.Errorf("%s needs a project: set [llm] project or GOOGLE_CLOUD_PROJECT, and [llm] region or GOOGLE_CLOUD_LOCATION unless it is global", m)
	}
	place := or(location.text, "global")
	if m.BaseURL == "" {
		m.BaseURL = "https://" + place + "-aiplatform.googleapis.com"
		if place == "global" {
			m.BaseURL = "https://aiplatform.googleapis.com"
		}
		m.BaseAt = or(location.at, project.at)
	}
	m.BaseURL = strings.TrimSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1") + "/v1/projects/" + url.PathEscape(project.text) + "/locations/" + url.PathEscape(place)
	if err := c.checkedRegion(m, location); err != nil {
		return err
	}
	return c.checkedRegion(m, project)
}

// checkedRegion reports a region or project that makes no address.
func (c *Config) checkedRegion(m *Model, from sourced) error {
	if err := checkURL(m.BaseURL); err != nil || strings.ContainsAny(from.text, "/ .@?#") {
		return fmt.Errorf("%s: found %s, which is none", from.at, quoted(from.text))
	}
	return nil
}
