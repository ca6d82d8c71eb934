import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { cniConfig, cniConfigFile } from '#containerd/config.js';
import { forgetPodCIDR, lastPodCIDR } from '#containerd/pod-cidr.js';

const network = { name: 'cni0', bridge: 'cni0', ipamDir: '/ipam' };

t.test('the template equals the configuration except for ranges and routes', async (t) => {
  const template = cniConfig(network)
    .replace(/\{\{range \$i, \$range := \.PodCIDRRanges\}\}.*\{\{end\}\}$/m, '[{"subnet": "10.0.0.0/24"}]')
    .replace(/\{\{range \$i, \$route := \.Routes\}\}.*\{\{end\}\}$/m, '{"dst": "0.0.0.0/0"}');
  t.same(JSON.parse(template), JSON.parse(cniConfig({ ...network, subnet: '10.0.0.0/24' })));
});

t.test('the last pod range is read from the CNI configuration', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'cni-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const file = join(dir, cniConfigFile);
  t.equal(await lastPodCIDR(dir), undefined);
  await mkdir(dirname(file));
  const text = cniConfig({ ...network, subnet: '10.0.0.0/24' });
  await writeFile(file, text);
  t.equal(await lastPodCIDR(dir), '10.0.0.0/24');
  await writeFile(file, text.slice(0, -20));
  t.equal(await lastPodCIDR(dir), undefined, 'a truncated file');
  await writeFile(file, text.replace('"ranges": [', '"ranges": [[{"subnet": "fd00::/64"}],'));
  t.equal(await lastPodCIDR(dir), '10.0.0.0/24', 'the IPv4 range of two families');
  await forgetPodCIDR(dir);
  t.equal(await lastPodCIDR(dir), undefined);
});
