/** The commands that build kustomizations, and those that send them. */
import { type Row, rows } from '#test/integration/client/kubectl/rows.js';

export const kustomizeRows: readonly Row[] = rows(`
kustomize @k/base
kustomize @k/production
kustomize @k/patched
kustomize @k/generated
kustomize @k/replaced
kustomize @k/composed
kustomize @k/renamed --reorder none
kustomize @k/nothing
kustomize @k/none
kustomize @k/unknown
kustomize @k/outside
kustomize @k/twice
kustomize @k/unresolved
create -k @k/base
get -k @k/base -o name
apply -k @k/generated --dry-run=client -o name
apply -k @k/generated
apply -k @k/generated -f @pod.yaml
apply -k @k/generated -R
diff -k @k/generated
label -k @k/base tier=front
delete -k @k/base --wait=false
delete -k @k/none
`);
