// Answers what release 1.24 makes of YAML texts. Each line of the input is a JSON string, a text; each line of the output is its
// JSON, or an object {"error": "..."} inside a JSON string that begins with "!".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func answer(text string) (out string) {
	defer func() {
		if r := recover(); r != nil {
			out = fmt.Sprintf("!panic %v", r)
		}
	}()
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "!" + err.Error()
	}
	strict := ""
	if _, err := yaml.YAMLToJSONStrict([]byte(text)); err != nil {
		strict = "\n" + err.Error()
	}
	return string(value) + strict
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var text string
		if err := json.Unmarshal(line, &text); err != nil {
			panic(err)
		}
		encoded, _ := json.Marshal(answer(text))
		out.Write(encoded)
		out.WriteByte('\n')
	}
}
