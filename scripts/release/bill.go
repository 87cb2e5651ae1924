package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
	"github.com/google/uuid"

	published "github.com/openmanus-go/openmanus/internal/release"
)

// allowed are the licences that something in the program may have.
var allowed = []string{"MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "MPL-2.0", "ISC", "OFL-1.1", "Unlicense", "0BSD", "(MPL-2.0 OR Apache-2.0)"}

// A part is something of others that is in the program.
type part struct {
	name, version string
	kind          string // golang or npm
	licences      []string
	text          string // of its licence
}

// bill writes what the programs consist of, and adds the licences to what comes beside them.
func (r *releaser) bill(ctx context.Context, programs map[target][]byte) error {
	parts, err := r.modules(ctx, programs)
	if err != nil {
		return err
	}
	page, err := r.page()
	if err != nil {
		return err
	}
	parts = append(parts, page...)
	var text strings.Builder
	text.WriteString("OpenManus contains the work of others, under these licences.\n")
	var components []cdx.Component
	for _, p := range parts {
		for _, l := range p.licences {
			if !slices.Contains(allowed, l) {
				return fmt.Errorf("%s %s has the licence %s, which is not one of %s", p.name, p.version, l, strings.Join(allowed, ", "))
			}
		}
		fmt.Fprintf(&text, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("=", 80), p.name, p.version, strings.Join(p.licences, ", "), strings.TrimSpace(p.text))
		components = append(components, p.component())
	}
	r.extras = append(r.extras, extra{"THIRD_PARTY_LICENSES.txt", []byte(text.String())})

	bom := cdx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(r.version+" "+r.commit)).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			BOMRef: "openmanus", Type: cdx.ComponentTypeApplication, Name: "openmanus", Version: r.version,
			PackageURL: "pkg:golang/github.com/openmanus-go/openmanus@" + r.version,
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
		},
	}
	bom.Components = &components
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return r.write("openmanus_"+strings.TrimPrefix(r.version, "v")+"_sbom.cdx.json", kindSBOM, target{}, b.Bytes())
}

func (p part) component() cdx.Component {
	url := "pkg:" + p.kind + "/" + strings.Replace(p.name, "@", "%40", 1) + "@" + strings.ReplaceAll(p.version, "+", "%2B")
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: url}
	licences := cdx.Licenses{}
	for _, l := range p.licences {
		if strings.HasPrefix(l, "(") {
			licences = cdx.Licenses{{Expression: strings.Trim(l, "()")}}
			break
		}
		licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: l}})
	}
	c.Licenses = &licences
	return c
}

// modules returns the modules that are linked into the programs, as they say themselves.
func (r *releaser) modules(ctx context.Context, programs map[target][]byte) ([]part, error) {
	versions := make(map[string]string)
	for t, program := range programs {
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			versions[m.Path] = m.Version
		}
	}
	out, err := command(ctx, r.root, nil, "go", "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	parts := []part{{name: "std", version: strings.TrimPrefix(r.manifest.Go, "go"), kind: "golang", licences: []string{"BSD-3-Clause"}}}
	goroot, err := command(ctx, r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if parts[0].text, _, err = licencesIn(strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := dec.Decode(&m); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if v, ok := versions[m.Path]; !ok || v != m.Version {
			continue
		}
		delete(versions, m.Path)
		p := part{name: m.Path, version: m.Version, kind: "golang"}
		if p.text, p.licences, err = licencesIn(m.Dir); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		parts = append(parts, p)
	}
	if len(versions) > 0 {
		return nil, fmt.Errorf("the licences of these modules were not found: %v", versions)
	}
	return parts, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([-.].*)?$`)

// licencesIn returns the text of the licences in a directory, and which they are.
func licencesIn(dir string) (text string, ids []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", nil, err
		}
		text += string(data) + "\n"
		for _, m := range licensecheck.Scan(data).Match {
			if !slices.Contains(ids, m.ID) && !m.IsURL {
				ids = append(ids, m.ID)
			}
		}
	}
	if len(ids) == 0 {
		return "", nil, errors.New("no licence was found in " + dir)
	}
	return text, ids, nil
}

var pagePart = regexp.MustCompile(`(?m)^## (\S+) - (\S+) \((.+)\)$`)

// page returns what is in the page, of which its build made a list.
func (r *releaser) page() (parts []part, err error) {
	data, err := os.ReadFile(filepath.Join(r.root, "server/web/dist/licenses.md"))
	if err != nil {
		return nil, err
	}
	text := string(data)
	found := pagePart.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		parts = append(parts, part{
			name: text[at[2]:at[3]], version: text[at[4]:at[5]], kind: "npm",
			licences: []string{text[at[6]:at[7]]}, text: text[at[1]:end],
		})
	}
	if parts == nil {
		return nil, errors.New("server/web/dist/licenses.md names nothing")
	}
	font, err := os.ReadFile(filepath.Join(r.root, "server/web/dist/geist-LICENSE.txt"))
	return append(parts, part{name: "geist", version: "1", kind: "npm", licences: []string{"OFL-1.1"}, text: string(font)}), err
}

// Kinds that only people look for.
const (
	kindSBOM    published.Kind = "sbom"
	kindImage   published.Kind = "image"
	kindChannel published.Kind = "channel"
	kindScript  published.Kind = "script"
)
