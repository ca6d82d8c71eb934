import t from 'tap';
import { formatKubeconfig, parseKubeconfig } from '#client/kubeconfig/file.js';

t.test('names with a special meaning in YAML 1.1 survive a file', (t) => {
  for (const name of ['n', 'yes', 'off', '0755', '1e3', '12:30', '~', '']) {
    const config = {
      ...parseKubeconfig(''),
      contexts: [{ name, context: { cluster: name, user: name, namespace: name } }],
    };
    t.same(parseKubeconfig(formatKubeconfig(config)).contexts, config.contexts, name);
  }
  t.throws(() => parseKubeconfig('contexts: [{name: c, context: {namespace: n}}]'), { message: /namespace is not a/ });
  t.equal(parseKubeconfig('current-context: a\ncurrent-context: b')['current-context'], 'b', 'the last one counts');
  t.end();
});
