import t from 'tap';
import type { Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { isSignificantUpdate } from '#apiserver/admission/podsecurity/significant-update.js';

const old: Pod = {
  metadata: { name: 'p' },
  spec: {
    initContainers: [{ name: 'i', image: 'a' }],
    containers: [{ name: 'c', image: 'a' }, { name: 'd' }],
    ephemeralContainers: [{ name: 'e', image: 'a' }],
  },
};

t.test('updates that are checked', async (t) => {
  const seccomp = `seccomp.security.alpha.${dialect.labelDomain}/pod`;
  const of = (name: string) => `container.seccomp.security.alpha.${dialect.labelDomain}/${name}`;
  const check = (title: string, expected: boolean, spec: Partial<PodSpec>, annotations = {}) => {
    const pod: Pod = { metadata: { name: 'p', labels: { a: 'b' }, annotations }, spec: { ...old.spec, ...spec } };
    t.equal(isSignificantUpdate(pod, old, dialect), expected, title);
  };
  check('labels', false, {});
  check('other annotations', false, {}, { a: 'b', [of('other')]: 'x' });
  check('other fields', false, { activeDeadlineSeconds: 3, tolerations: [] });
  check('an empty annotation is no annotation', false, {}, { [seccomp]: '' });
  check('an image', true, { containers: [{ name: 'c', image: 'b' }, { name: 'd' }] });
  check('an image that is set', true, {
    containers: [
      { name: 'c', image: 'a' },
      { name: 'd', image: 'x' },
    ],
  });
  check('an image of an initialization container', true, { initContainers: [{ name: 'i', image: 'b' }] });
  check('one container less', true, { containers: [{ name: 'c', image: 'a' }] });
  check('no initialization containers', true, { initContainers: [] });
  check('an ephemeral container more', true, {
    ephemeralContainers: [
      { name: 'e', image: 'a' },
      { name: 'f', image: 'a' },
    ],
  });
  check('an image of an ephemeral container', true, { ephemeralContainers: [{ name: 'e', image: 'b' }] });
  check('no ephemeral containers', false, { ephemeralContainers: [] });
  check('the seccomp annotation of the pod', true, {}, { [seccomp]: 'unconfined' });
  for (const name of ['c', 'i', 'e'])
    check(`the seccomp annotation of ${name}`, true, {}, { [of(name)]: 'unconfined' });
});
