import t from 'tap';
import { objectsIn, unknownKinds } from '#test/outsiders/bundles/manifests.js';

const complaint = `resource mapping not found for name: "a" namespace: "" from "x.yaml": no matches for kind "Issuer" in version "cert-manager.io/v1"
ensure CRDs are installed first
`;

t.test('missing kinds do not hide objects of other kinds', async (t) => {
  const kinds = unknownKinds(complaint);
  t.strictSame([...kinds], ['cert-manager.io/v1 Issuer']);
  const text = `apiVersion: cert-manager.io/v1
kind: Issuer
---
# nothing
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: cert-manager.io/v1, kind: Issuer}
---
apiVersion: v1
kind: Secret
`;
  t.strictSame(objectsIn(text, kinds), [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
    { apiVersion: 'v1', kind: 'Secret' },
  ]);
  t.strictSame([...unknownKinds('')], []);
  t.strictSame(objectsIn('', kinds), []);
});
