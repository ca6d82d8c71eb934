import t from 'tap';
import { OptionsError } from '#daemon/options/option.js';
import { parseProviders, readProviders } from '#nodeagent/images/provider-config.js';

const provider = {
  name: 'plugin',
  matchImages: ['*.example.com:5000/team'],
  defaultCacheDuration: '12h',
  apiVersion: 'credentialprovider.nodeagent.orch.io/v1beta1',
};
const file = (providers: unknown, apiVersion = 'nodeagent.config.orch.io/v1beta1') =>
  JSON.stringify({ apiVersion, kind: 'CredentialProviderConfig', providers });

function errors(text: string): readonly string[] {
  try {
    parseProviders(text, '/bin');
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
  return [];
}

t.test('both API versions of both dialects are accepted', async (t) => {
  const env = [{ name: 'REGION', value: 'eu' }];
  for (const group of ['nodeagent.config.orch.io', 'kubelet.config.k8s.io']) {
    for (const version of ['v1alpha1', 'v1beta1']) {
      const apiVersion = `credentialprovider.kubelet.k8s.io/${version}`;
      const text = file([{ ...provider, apiVersion, env, args: ['--x'] }], `${group}/${version}`);
      t.match(parseProviders(text, '/opt/bin'), [
        { path: '/opt/bin/plugin', defaultCacheMs: 43_200_000, apiVersion, args: ['--x'], env: { REGION: 'eu' } },
      ]);
    }
  }
});

t.test('errors name the invalid field', async (t) => {
  for (const [text, expected] of [
    [file([provider], 'v1'), /apiVersion and kind must be CredentialProviderConfig of/],
    [file([]), /at least 1 item in plugins is required/],
    [file([{ ...provider, name: '../sh' }]), /providers\[0\].name: .*path separators/],
    [file([{ ...provider, name: '..' }]), /must not be ".."/],
    [file([{ ...provider, name: 'a b' }]), /must not contain spaces/],
    [file([{ ...provider, matchImages: [] }]), /matchImages: Required value/],
    [file([{ ...provider, matchImages: ['https://x'] }]), /must be host/],
    [file([{ ...provider, apiVersion: 'v1' }]), /Unsupported value: "v1"/],
    [file([{ ...provider, defaultCacheDuration: '-1s' }]), /greater than or equal to 0/],
    [file([{ ...provider, defaultCacheDuration: undefined }]), /defaultCacheDuration: Required value/],
    [file([{ ...provider, more: 1 }]), /unknown field "providers\[0\].more"/],
    [file([{ ...provider, matchImages: 7 }]), /must be a list/],
  ] as const) {
    t.match(errors(text)[0] ?? '', expected);
  }
  await t.rejects(readProviders('/nowhere/config', '/nowhere'), /plugin binary directory \/nowhere did not exist/);
  await t.rejects(readProviders('/nowhere/config', t.testdir()), /cannot read \/nowhere\/config/);
});
