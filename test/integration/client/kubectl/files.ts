/** Files that the compared commands read. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { kustomizations } from '#test/integration/client/kubectl/kustomizations.js';

const pod = (name: string, image: string) => `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: {app: web, tier: front}
spec:
  containers:
  - {name: main, image: "${image}"}
`;

const web = (image: string, label: string) => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: front
  labels:
    app: front
${label}spec:
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      containers:
      - name: main
        image: ${image}
        env: [{name: A, value: "1"}]
`;

const files: Readonly<Record<string, string>> = {
  colors: 'sky=blue\ngrass=green\n',
  sky: 'blue',
  'folder/a': '1\n',
  'folder/b': 'two: "words"\n',
  env: '# comment\nA=1\nB=two words\n\nC=\n',
  'pod.yaml': pod('web-0', 'nginx:1'),
  'many.yaml': `${pod('web-1', 'nginx:2')}---\n${pod('web-2', 'httpd')}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {a: b}\n`,
  'bad.yaml': 'kind: Pod\n a: b: c\n',
  'unknown.yaml': 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n',
  'web.yaml': web('nginx:1', '    sidecar: "yes"\n'),
  'web-2.yaml': web('nginx:2', ''),
  'patched.yaml': 'data: {sea: green}\n',
  ...kustomizations,
  columns: 'NAME            NODE\nmetadata.name   {.spec.nodeName}\n',
  template: '{{range .items}}{{.metadata.name}} {{.spec.nodeName}}\n{{end}}',
};

/** Writes them below the folder. */
export async function writeFiles(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
