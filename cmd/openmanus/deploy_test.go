package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/cli"
)

// TestDeployedCommands reads the files in deploy for clusters: their commands, variables and
// configurations are ones that there are.
func TestDeployedCommands(t *testing.T) {
	found := map[string]int{}
	command := func(file string, words []any) {
		var args []string
		for _, w := range words {
			args = append(args, fmt.Sprint(w))
		}
		found["commands"]++
		if _, err := cli.New("openmanus", about, new(commands)).Parse(args); err != nil {
			t.Errorf("%s: openmanus %s: %v", file, strings.Join(args, " "), err)
		}
	}
	configured := func(file, text string, env map[string]string) {
		found["configurations"]++
		dir := t.TempDir()
		path := dir + "/config.toml"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env["HOME"], env["TOKEN"] = dir, "0123456789abcdef"
		var names []string
		for name := range env {
			names = append(names, name)
		}
		_, warnings, err := config.Load(config.Sources{File: path, EnvNames: names, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", file, warnings, err)
		}
	}
	var compose struct {
		Services map[string]struct {
			Image       string
			Command     []any
			Environment map[string]string
		}
		Configs map[string]struct{ Content string }
	}
	decode(t, "../../deploy/compose.yaml", func(d *yaml.Decoder) error { return d.Decode(&compose) })
	for _, s := range compose.Services {
		if s.Image == "openmanus-cluster" {
			command("compose.yaml", s.Command)
			configured("compose.yaml", compose.Configs["config"].Content, without(s.Environment, "OPENMANUS_CONFIG"))
		}
	}
	decode(t, "../../deploy/kubernetes.yaml", func(d *yaml.Decoder) error {
		for {
			var doc struct {
				Kind string
				Data map[string]string
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Image string
								Args  []any
							}
						}
					}
				}
			}
			if err := d.Decode(&doc); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			for _, c := range doc.Spec.Template.Spec.Containers {
				command("kubernetes.yaml", c.Args)
			}
			if text, ok := doc.Data["config.toml"]; ok {
				configured("kubernetes.yaml", text, map[string]string{})
			}
		}
	})
	if found["commands"] != 5 || found["configurations"] != 4 {
		t.Errorf("found %v", found)
	}
}

// without returns a copy of a map without some keys, as in an environment that has the rest.
func without(m map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if strings.HasPrefix(v, "${") { // from the environment
			v = "something"
		}
		if !slices.Contains(keys, k) {
			out[k] = v
		}
	}
	return out
}

func decode(t *testing.T, file string, read func(*yaml.Decoder) error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := read(yaml.NewDecoder(bytes.NewReader(data))); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}
