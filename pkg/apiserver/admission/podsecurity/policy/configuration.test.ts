import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { podSecurityConfiguration } from '#apiserver/admission/podsecurity/policy/configuration.js';
import { shownLevel } from '#apiserver/admission/podsecurity/standards/level.js';
import type { OptionsError } from '#daemon/options/option.js';

const empty = { usernames: [], namespaces: [], runtimeClasses: [] };

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`configuration: ${dialect.name}`, async (t) => {
    const group = `pod-security.admission.config.${dialect.apiDomain}`;
    const read = (more?: object, version = 'v1') => {
      const value = { apiVersion: `${group}/${version}`, kind: 'PodSecurityConfiguration', ...more };
      const config = podSecurityConfiguration(more && { path: 'f.yaml', value }, dialect);
      const { enforce, audit, warn } = config.defaults;
      const { usernames, namespaces, runtimeClasses } = config.exemptions;
      return {
        defaults: [enforce, audit, warn].map(shownLevel),
        exemptions: {
          usernames: [...usernames],
          namespaces: [...namespaces],
          runtimeClasses: [...runtimeClasses],
        },
      };
    };
    const usual = { defaults: Array.from({ length: 3 }, () => 'privileged:latest'), exemptions: empty };
    t.same(read(), usual, 'without a configuration');
    for (const version of ['v1alpha1', 'v1beta1', 'v1']) t.same(read({}, version), usual, version);
    t.same(read({ defaults: { enforce: '', 'warn-version': '' }, exemptions: {} }), usual, 'empty texts are unset');
    t.same(
      read({
        defaults: { enforce: 'baseline', 'enforce-version': 'v1.20', audit: 'restricted', 'audit-version': 'v1.24' },
        exemptions: { usernames: ['a', 'system:b'], namespaces: ['x'], runtimeClasses: ['r.s'] },
      }),
      {
        defaults: ['baseline:v1.20', 'restricted:v1.24', 'privileged:latest'],
        exemptions: { usernames: ['a', 'system:b'], namespaces: ['x'], runtimeClasses: ['r.s'] },
      },
      'all fields',
    );
    const fails = (more: object, messages: readonly (string | RegExp)[], version?: string) => {
      const place = '--admission-control-config-file: f.yaml: ';
      try {
        read(more, version);
        t.fail(`accepted ${JSON.stringify(more)}`);
      } catch (error) {
        const { messages: errors } = error as OptionsError;
        t.match(
          errors.map((text) => text.replace(place, '')),
          messages,
          JSON.stringify(more),
        );
        t.equal(errors.length, messages.length, `number of errors: ${JSON.stringify(more)}`);
      }
    };
    const level = 'must be one of privileged, baseline, restricted';
    fails({ defaults: { enforce: 'x', 'enforce-version': '1.2', warn: 'y', audit: 'z', 'audit-version': 'v1.x' } }, [
      `defaults.enforce: Invalid value: "x": ${level}`,
      'defaults.enforce-version: Invalid value: "1.2": must be "latest" or "v1.x"',
      `defaults.warn: Invalid value: "y": ${level}`,
      `defaults.audit: Invalid value: "z": ${level}`,
      'defaults.audit-version: Invalid value: "v1.x": must be "latest" or "v1.x"',
    ]);
    fails(
      { exemptions: { namespaces: ['A_b', 'a', 'a'], usernames: ['', 'b', 'b'], runtimeClasses: ['-', 'c', 'c'] } },
      [
        /^exemptions.namespaces\[0\]: Invalid value: "A_b": a lowercase RFC 1123 label must consist of /,
        'exemptions.namespaces[2]: Duplicate value: "a"',
        /^exemptions.runtimeClasses\[0\]: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of /,
        'exemptions.runtimeClasses[2]: Duplicate value: "c"',
        'exemptions.usernames[0]: Invalid value: "": username must not be empty',
        'exemptions.usernames[2]: Duplicate value: "b"',
      ],
    );
    fails({ foo: 1 }, ['unknown field "foo"']);
    fails({ defaults: { enforce: 3 } }, [/^defaults.enforce: Invalid value: 3: must be a string$/]);
    fails(
      {},
      [/^got unexpected config type: apiVersion must be ".*\/v1alpha1" or ".*\/v1beta1" or ".*\/v1" and kind/],
      'v2',
    );
    fails({ kind: 'Other' }, [/^got unexpected config type/]);
  });
}
