import t from 'tap';
import type { ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { readAnswer } from '#apiserver/admission/webhook/review.js';

const read = (
  response: unknown,
  { version = 'v1', mutating = true }: { version?: ReviewVersion; mutating?: boolean } = {},
) =>
  readAnswer(
    { apiVersion: dialect.apiVersion('admission', version), kind: 'AdmissionReview', response },
    { dialect, version, uid: 'u', mutating },
  );
const base = { uid: 'u', allowed: true };
const patch = Buffer.from('[]').toString('base64');

const wrong: [name: string, response: unknown, message: RegExp, options?: Parameters<typeof read>[1]][] = [
  ['nothing', undefined, /^webhook response was absent$/],
  ['no object', 'yes', /^webhook response was absent$/],
  ['another uid', { ...base, uid: 'x' }, /^expected response\.uid="u", got "x"$/],
  ['no uid', { allowed: true }, /^expected response\.uid="u", got ""$/],
  ['a uid that is no text', { ...base, uid: {} }, /^expected response\.uid="u", got ""$/],
  ['no yes or no', { ...base, allowed: 'yes' }, /^response\.allowed is not a boolean$/],
  ['a patch without type', { ...base, patch }, /^webhook returned response\.patch but not response\.patchType$/],
  [
    'a type without patch',
    { ...base, patchType: 'JSONPatch' },
    /^webhook returned response\.patchType but not response\.patch$/,
  ],
  ['another type', { ...base, patch, patchType: 'Merge' }, /^webhook returned invalid response\.patchType of "Merge"$/],
  ['a patch that is no text', { ...base, patch: [] }, /^response\.patch is not a text in base64$/],
  [
    'a patch of one that validates',
    { ...base, patch, patchType: 'JSONPatch' },
    /^validating webhook may not return response\.patch$/,
    { mutating: false },
  ],
  [
    'a type of one that validates',
    { ...base, patchType: 'JSONPatch' },
    /^validating webhook may not return response\.patchType$/,
    { mutating: false },
  ],
];

t.test('invalid answers are refused', async (t) => {
  for (const [name, response, message, options] of wrong) t.throws(() => read(response, options), { message }, name);
  const expected = { dialect, version: 'v1', uid: 'u', mutating: true } as const;
  t.throws(() => readAnswer([], expected), { message: 'the answer is not a JSON object' });
  t.throws(() => readAnswer({ apiVersion: 'v1', kind: 'Pod' }, expected), {
    message: 'expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=Pod',
  });
  t.throws(
    () => readAnswer({ apiVersion: 'admission.k8s.io/v1beta1', kind: 'AdmissionReview' }, expected),
    /got admission/,
  );
});

t.test('answers of v1beta1 may omit members', async (t) => {
  const expected = { dialect, version: 'v1beta1', uid: 'u', mutating: true } as const;
  t.match(readAnswer({ response: { allowed: true } }, expected), { allowed: true });
  t.match(readAnswer({ response: { allowed: true, patch } }, expected), { patch: Buffer.from('[]') });
  t.equal(readAnswer({ response: { allowed: true, patch } }, { ...expected, mutating: false }).patch, undefined);
});

t.test('answers are truncated', async (t) => {
  t.equal(read({ uid: 'u' }).allowed, false);
  const many = read({
    ...base,
    warnings: [1, ...Array.from({ length: 100 }, (_, i) => `w${i}`)],
    auditAnnotations: {
      long: 'x'.repeat(10_000),
      wrong: 1,
      ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, 'v'])),
    },
    status: {
      code: 1.5,
      message: 'm'.repeat(100_000),
      reason: 7,
      details: { causes: [{ field: 'a', extra: 1 }, 'x'] },
    },
  });
  t.equal(many.warnings.length, 49);
  t.equal(Object.keys(many.auditAnnotations).length, 50);
  t.equal(many.auditAnnotations['long']?.length, 4096);
  t.equal(many.status?.message?.length, 64 * 1024);
  t.same(
    [many.status?.code, many.status?.reason, many.status?.details],
    [undefined, undefined, { causes: [{ field: 'a' }] }],
  );
});
