/** Walks through the dashboard's pages in Chromium, by keyboard and mouse, against a simulated cluster. */
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { startBrowser, watchConduct } from '#test/e2e/dashboard/browser.js';
import { axeFaults, DashboardTest, type OpenPage } from '#test/e2e/dashboard/dashboard-test.js';
import { pictureDifference } from '#test/e2e/dashboard/pictures.js';
import { allowAccount, allowReading, createScene, pipelinePath, secretValue, shop } from '#test/e2e/dashboard/scene.js';
import { eventually } from '#test/e2e/harness.js';

t.setTimeout(600_000);
const cluster = await startCluster({ nodes: 3, listen: true, dashboard: true });
t.teardown(() => cluster.close());
await createScene(cluster.client, cluster.dialect);
await allowReading(cluster.client, cluster.dialect, 'jane');
const browser = await startBrowser();
t.teardown(() => browser.close());
const admin = await DashboardTest.start(browser, cluster.kubeconfig());
t.teardown(() => admin.stop());

/** The page must have behaved, and be usable without sight and mouse. */
async function wellBehaved(t: Test, { page, conduct }: OpenPage): Promise<void> {
  t.same(await axeFaults(page), [], 'axe finds nothing');
  t.same(conduct.faults, [], 'no errors, no violations of the policy, no other host');
  await page.close();
}

t.test('the overview shows what is wrong, and why', async (t) => {
  const open = await admin.open();
  const { page } = open;
  const wrong = page.getByRole('region', { name: 'What is wrong' });
  await wrong.getByText('CrashLoopBackOff').first().waitFor();
  await wrong
    .getByText(/ends with exit code 3/)
    .first()
    .waitFor();
  await wrong
    .getByText(/serach:1.0 does not exist in its registry/)
    .first()
    .waitFor();
  await page.getByRole('link', { name: /3 Nodes all well/ }).waitFor();
  await page.getByRole('region', { name: 'Recent warnings' }).getByText('BackOff').first().waitFor();
  await wrong.getByRole('link', { name: /^payments-/ }).click();
  await page.getByRole('heading', { name: /Pod payments-/ }).waitFor();
  t.match(page.url(), /\/ui\/objects\/core\/pods\/shop\/payments-[^/]+$/, 'the page has a link of its own');
  await page.getByRole('region', { name: 'Why' }).getByText('Read what it printed before its end.').waitFor();
  await wellBehaved(t, open);
});

t.test('a table filters, sorts, and shows changes at once', async (t) => {
  const open = await admin.open('/ui/kinds/core/pods');
  const { page } = open;
  const table = page.getByRole('table', { name: 'Pods' });
  await table
    .getByRole('row', { name: /storefront-/ })
    .first()
    .waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('storefront status:Running');
  await page
    .getByRole('status')
    .getByText(/^3 of \d+/)
    .waitFor();
  t.match(page.url(), /filter=storefront/, 'the filter is part of the address');
  await page.getByRole('searchbox', { name: 'Filter rows' }).fill('');
  await table.getByRole('button', { name: 'Status' }).click();
  await table
    .getByRole('columnheader', { name: /Status/ })
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor();
  await eventually('the rows are in the order of their status', async () => {
    const texts = await table.locator('[data-column=Status]').allTextContents();
    return (
      texts.length > 5 && texts.join() === texts.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)).join()
    );
  });
  await page.locator('summary', { hasText: 'Columns' }).click();
  await page.getByLabel('Node', { exact: true }).check();
  await table
    .getByRole('cell', { name: /^node-\d$/ })
    .first()
    .waitFor();
  const { client } = cluster;
  await client.request(
    'PATCH',
    `/apis/apps/v1/namespaces/${shop}/deployments/cart`,
    { spec: { replicas: 5 } },
    {
      contentType: 'application/merge-patch+json',
    },
  );
  await page.getByRole('searchbox', { name: 'Filter rows' }).fill('cart');
  await eventually(
    'the new pods are there',
    async () => (await table.getByRole('row', { name: /cart-/ }).count()) === 5,
  );
  await wellBehaved(t, open);
});

t.test('the keyboard goes everywhere', async (t) => {
  const open = await admin.open();
  const { page } = open;
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  // The keys lead to kinds once the page has read which there are, and the second key must follow the first soon.
  await page.getByRole('link', { name: 'Deployments' }).first().waitFor();
  const deployments = page.getByRole('heading', { name: 'Deployments' });
  await eventually('g d leads to the deployments', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    return deployments.isVisible();
  });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('stateful');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'StatefulSets' }).waitFor();
  await page.getByRole('table').getByRole('link', { name: 'db' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'StatefulSet db' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'StatefulSets' }).waitFor();
  await page.keyboard.press('?');
  await page
    .getByRole('dialog', { name: 'Keyboard shortcuts' })
    .getByText('Go to a page, a kind or an object')
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await wellBehaved(t, open);
});

t.test('custom kinds have their own columns', async (t) => {
  const { client } = cluster;
  await eventually('the definition is served', async () => {
    const pipeline = {
      apiVersion: 'ci.example.org/v1',
      kind: 'Pipeline',
      metadata: { name: 'release' },
      spec: { stage: 'building' },
    };
    return client.request('POST', pipelinePath, pipeline);
  });
  const open = await admin.open('/ui/kinds');
  const { page } = open;
  await page.getByRole('searchbox', { name: 'Filter kinds' }).fill('pl');
  await page.getByRole('link', { name: 'Pipeline' }).click();
  const row = page.getByRole('row', { name: /release/ });
  await row.getByText('building').waitFor();
  await client.request(
    'PATCH',
    `${pipelinePath}/release`,
    { spec: { stage: 'tested' } },
    { contentType: 'application/merge-patch+json' },
  );
  await row.getByText('tested').waitFor();
  await wellBehaved(t, open);
});

t.test('an edit shows its difference, and conflicts by their manager', async (t) => {
  const { client } = cluster;
  const path = `/api/v1/namespaces/${shop}/configmaps/settings`;
  await client.request(
    'PATCH',
    `${path}?fieldManager=painter&force=true`,
    { apiVersion: 'v1', kind: 'ConfigMap', data: { colour: 'blue' } },
    {
      contentType: 'application/apply-patch+yaml',
    },
  );
  const open = await admin.open(`/ui/objects/core/configmaps/${shop}/settings/yaml`);
  const { page } = open;
  await page.getByRole('button', { name: 'Edit' }).click();
  const editor = page.getByRole('textbox', { name: 'YAML of the object' });
  await editor.fill((await editor.inputValue()).replace('blue', 'red'));
  await page.getByRole('button', { name: 'Review changes' }).click();
  const conflicts = page.getByRole('list', { name: 'Conflicts' });
  await conflicts.getByText('painter').waitFor();
  await conflicts.getByText('.data.colour').waitFor();
  await page.getByRole('button', { name: 'Take over these fields' }).click();
  const difference = page.getByRole('region', { name: 'Difference' });
  await difference.getByText('-   colour: blue').waitFor();
  await difference.getByText('+   colour: red').waitFor();
  t.same(await axeFaults(page), [], 'axe finds nothing in the difference');
  await page.getByRole('button', { name: 'Apply, and take over the fields' }).click();
  await page.getByRole('region', { name: 'YAML' }).getByText('colour: red').waitFor();
  const held = await client.request<{ data: object; metadata: { managedFields: { manager: string }[] } }>('GET', path);
  t.same(held.data, { colour: 'red' });
  t.ok(
    held.metadata.managedFields.some(({ manager }) => manager === 'orch-dashboard'),
    'the page is the manager',
  );
  await wellBehaved(t, open);
});

t.test('logs of many pods are one text, with search', async (t) => {
  const open = await admin.open(`/ui/objects/apps/deployments/${shop}/storefront/logs`);
  const { page } = open;
  const lines = page.getByRole('log', { name: 'Lines' });
  await lines
    .getByText(/^line \d+/)
    .first()
    .waitFor();
  await eventually('lines of three pods', async () => {
    const names = await lines.locator('.from').allTextContents();
    return new Set(names).size === 3;
  });
  await page.getByRole('searchbox', { name: 'Search in logs' }).fill('line 1');
  await lines.locator('mark').first().waitFor();
  await wellBehaved(t, open);
});

t.test('a secret is hidden until it is asked for', async (t) => {
  const open = await admin.open(`/ui/objects/core/secrets/${shop}/card-key`);
  const { page } = open;
  const encoded = Buffer.from(secretValue).toString('base64');
  const isShown = async () => (await page.content()).includes(encoded) || (await page.content()).includes(secretValue);
  await page
    .getByRole('region', { name: 'Conditions' })
    .or(page.getByRole('region', { name: 'Events' }))
    .first()
    .waitFor();
  t.notOk(await isShown(), 'not on the summary');
  await page.getByRole('link', { name: 'YAML' }).click();
  await page.getByText('••••••').first().waitFor();
  t.notOk(await isShown(), 'not in the YAML');
  await page.getByRole('button', { name: 'Show values' }).click();
  await page.getByText(encoded).waitFor();
  await wellBehaved(t, open);
});

t.test('ten questions are answered by the pages alone', async (t) => {
  const open = await admin.open();
  const { page } = open;
  const goTo = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  const region = (name: string | RegExp) => page.getByRole('region', { name });
  const answer = async (question: string, find: () => Promise<unknown>) => {
    await find();
    t.pass(question);
  };
  await answer('Which pod crashes, and why?', async () => {
    const wrong = region('What is wrong');
    await wrong.getByRole('link', { name: /^payments-/ }).waitFor();
    await wrong
      .getByText(/ends with exit code 3/)
      .first()
      .waitFor();
  });
  await answer('Which image cannot be pulled?', () =>
    region('What is wrong')
      .getByText(/serach:1.0 does not exist/)
      .first()
      .waitFor(),
  );
  await answer('Why does the pod of reports not start?', async () => {
    await region('What is wrong').getByRole('link', { name: 'shop/reports' }).click();
    await region('Why')
      .getByText(/No node can take the pod|Insufficient cpu/)
      .first()
      .waitFor();
  });
  await answer('Who owns this pod?', async () => {
    await page.getByRole('link', { name: 'Owners', exact: true }).click();
    const tree = page.getByRole('list', { name: 'Tree' });
    await tree.getByRole('listitem').filter({ hasText: 'ReplicaSet' }).waitFor();
    await tree
      .getByRole('listitem')
      .filter({ hasText: 'Pod' })
      .getByRole('link', { name: /^reports-/ })
      .click();
    await region('Facts')
      .or(page.getByRole('complementary', { name: 'Facts' }))
      .getByText('ReplicaSet')
      .waitFor();
  });
  await answer('What fills this node?', async () => {
    await goTo('Map of nodes');
    const { items } = await cluster.client.resource(pods).list({ namespace: shop, labelSelector: 'app=db' });
    const node = items[0]?.spec.nodeName ?? '';
    await page
      .getByRole('list', { name: 'Map of nodes' })
      .getByRole('button', { name: new RegExp(`^${node} `) })
      .click();
    const fills = region(`What fills ${node}`);
    await fills
      .getByRole('link', { name: /^db-\d$/ })
      .first()
      .waitFor();
    await fills.getByText('1.0 GiB', { exact: true }).first().waitFor();
  });
  await answer('How much does the node use now?', async () => {
    await region('Use')
      .getByRole('img', { name: /^CPU over time, now .* cores/ })
      .waitFor();
  });
  await answer('Why has this service no endpoints?', async () => {
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption(shop);
    await goTo('Topology');
    await region('Services').getByText('selects no pods (app=chekout)').waitFor();
    await region('Services').getByRole('link', { name: 'checkout' }).click();
    await region('Why').getByText('Stuck').waitFor();
    await region('Why')
      .getByText(/app=chekout|selects no pod/)
      .first()
      .waitFor();
  });
  await answer('Which policy protects the cart?', async () => {
    await goTo('Topology');
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption(shop);
    await region('Workloads').getByText('Policy only-storefront: only from pods app=storefront').waitFor();
    t.same(await axeFaults(page), [], 'axe finds nothing in the topology');
  });
  await answer('What may I do here?', async () => {
    await goTo('Access');
    await region('What may I do here').getByRole('cell', { name: '*' }).first().waitFor();
  });
  await answer('Who may read pods here?', async () => {
    await page.getByRole('combobox', { name: 'Verb' }).selectOption('list');
    await page.getByRole('button', { name: 'Ask' }).click();
    const who = region('Who may do this');
    await who.getByText('You may', { exact: true }).waitFor();
    await who.getByRole('row', { name: `User jane RoleBinding ${shop}/pod-reader of Role pod-reader` }).waitFor();
  });
  await wellBehaved(t, open);
});

t.test('a port leads to the pod, and a shell runs in it', async (t) => {
  const { items } = await cluster.client.resource(pods).list({ namespace: shop, labelSelector: 'app=storefront' });
  const open = await admin.open(`/ui/objects/core/pods/${shop}/${items[0]?.metadata.name}/ports`);
  const { page } = open;
  await page.getByRole('button', { name: 'Forward 8080 (http)' }).click();
  const link = page.getByRole('list', { name: 'Forwarded ports' }).getByRole('link');
  await accepts(Number(new URL((await link.getAttribute('href')) ?? '').port));
  await page.getByRole('button', { name: 'End' }).click();
  await page.getByText('No port is forwarded.').waitFor();
  await page.getByRole('link', { name: 'Shell' }).click();
  await page.locator('.xterm-screen').waitFor();
  await wellBehaved(t, open);
});

/** Resolves when the port accepts a connection. */
function accepts(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

t.test('a user sees what the user may see, and nothing else', async (t) => {
  const jane = await DashboardTest.start(browser, cluster.kubeconfig(), '--as=jane');
  t.teardown(() => jane.stop());
  const open = await jane.open(`/ui/kinds/core/pods?namespace=${shop}`);
  const { page, conduct } = open;
  await page
    .getByRole('row', { name: /storefront-/ })
    .first()
    .waitFor();
  await page.goto(`${jane.origin}/ui/kinds/core/pods`);
  await page.getByText('Only namespaces that you may see').waitFor();
  await page
    .getByRole('row', { name: /storefront-/ })
    .first()
    .waitFor();
  await page.goto(`${jane.origin}/ui/kinds/core/secrets`);
  await page.getByText('There are none that you may see.').waitFor();
  const refused = async (path: string) => {
    await page.goto(jane.origin + path);
    await page.getByText('You may not see this').first().waitFor();
    t.equal((await page.getByText('card-key').count()) > 0, path.includes('card-key'), `${path} shows no secret`);
  };
  for (const path of [
    '/ui/',
    '/ui/nodes',
    `/ui/topology?namespace=${shop}`,
    `/ui/kinds/core/secrets?namespace=${shop}`,
    `/ui/objects/core/secrets/${shop}/card-key/yaml`,
  ])
    await refused(path);
  const granted = new Set(conduct.granted.filter((path) => !/^\/apis?(?:\/[^/]+)?(?:\/v[^/]+)?$/.test(path)));
  t.ok(granted.size > 0, 'there are answers to compare');
  const mayRead = async (path: string, place?: string) => {
    const [, group = '', inPath = '', resource = '', name = '', subresource = ''] =
      /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ??
      [];
    const namespace = place ?? inPath;
    const spec = {
      user: 'jane',
      resourceAttributes: { group, namespace, resource, subresource, name, verb: name === '' ? 'list' : 'get' },
    };
    const review = {
      apiVersion: `${cluster.dialect.groupName('authorization')}/v1`,
      kind: 'SubjectAccessReview',
      spec,
    };
    const answer = await cluster.client.request<{ status: { allowed: boolean } }>(
      'POST',
      `/apis/${cluster.dialect.groupName('authorization')}/v1/subjectaccessreviews`,
      review,
    );
    return answer.status.allowed;
  };
  for (const path of granted) t.ok(await mayRead(path), `jane may read ${path}`);
  t.ok(conduct.visible.length > 0, 'lists of all namespaces are answered with what is visible');
  for (const { path, namespaces } of conduct.visible)
    for (const each of await namespaces) t.ok(await mayRead(path, each), `jane may read ${path} in ${each}`);
  await wellBehaved(t, open);
});

t.test('the API server shows the dashboard to users with a token', async (t) => {
  const { client, dialect } = cluster;
  const server = new URL(/server: (\S+)/.exec(cluster.kubeconfig())?.[1] ?? '');
  const tokenRequest = {
    apiVersion: `${dialect.groupName('authentication')}/v1`,
    kind: 'TokenRequest',
    spec: { audiences: [] },
  };
  await allowAccount(client, dialect, 'reader');
  const { status } = await client.request<{ status: { token: string } }>(
    'POST',
    `/api/v1/namespaces/${shop}/serviceaccounts/reader/token`,
    tokenRequest,
  );
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const conduct = watchConduct(page, server.host);
  await eventually('the login is there', async () => {
    await page.goto(`${server.origin}/ui/kinds/core/pods?namespace=${shop}`);
    await page.getByLabel('Token').waitFor({ timeout: 15_000 });
    return true;
  });
  t.same(await axeFaults(page), [], 'axe finds nothing in the login');
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Unauthorized').waitFor();
  await page.getByLabel('Token').fill(status.token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page
    .getByRole('row', { name: /storefront-/ })
    .first()
    .waitFor();
  await client.request(
    'PATCH',
    `/apis/apps/v1/namespaces/${shop}/deployments/storefront`,
    { spec: { replicas: 4 } },
    {
      contentType: 'application/merge-patch+json',
    },
  );
  await eventually(
    'the new pod is there',
    async () => (await page.getByRole('row', { name: /storefront-/ }).count()) === 4,
  );
  t.same(
    await page.evaluate('Object.keys(localStorage).concat(Object.keys(sessionStorage), document.cookie)'),
    [''],
    'nothing is stored',
  );
  t.same(conduct.faults, [], 'no violations of the policy');
  await context.close();
});

t.test('the pages look as in the pictures, dark, light and on a phone', async (t) => {
  const look = async (name: string, path: string, text: RegExp, scheme: 'dark' | 'light', width = 1200) => {
    const open = await admin.open(path, { width, height: 760 });
    const { page } = open;
    await page.emulateMedia({ colorScheme: scheme });
    await page.getByText(text).first().waitFor();
    const difference = await pictureDifference(page, name);
    t.ok(difference < 0.08, `${name} differs by ${difference.toFixed(3)}`);
    await page.close();
  };
  await look('overview', '/ui/', /ends with exit code 3/, 'light');
  await look('pods', '/ui/kinds/core/pods', /storefront-/, 'dark');
  await look('topology', `/ui/topology?namespace=${shop}`, /selects no pods/, 'dark');
  await look('phone', '/ui/kinds/core/pods', /storefront-/, 'light', 390);
});

t.test('only the browser with the link gets in', async (t) => {
  const { page, context } = await admin.open();
  const other = await browser.newContext();
  const stranger = await other.newPage();
  await stranger.goto(`${admin.origin}/ui/`);
  await stranger.getByText('This page needs the whole link').waitFor();
  await other.close();
  const ask = (path: string, headers: Record<string, string>) => fetch(admin.origin + path, { headers });
  t.equal((await ask('/api/v1/pods', { 'x-orch-dashboard': '1' })).status, 401, 'no cookie');
  const [cookie] = await context.cookies();
  const session = { cookie: `${cookie?.name}=${cookie?.value}`, 'x-orch-dashboard': '1' };
  t.equal((await ask('/api/v1/pods', session)).status, 200, 'the cookie');
  t.equal((await ask('/api/v1/pods', { cookie: session.cookie })).status, 403, 'a form of another site');
  t.equal((await ask('/api/v1/pods', { ...session, origin: 'http://evil.example' })).status, 403, 'another origin');
  const headers = (await ask('/ui/', {})).headers;
  t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/);
  t.notMatch(headers.get('content-security-policy'), /unsafe/);
  t.same(cookie && { httpOnly: cookie.httpOnly, sameSite: cookie.sameSite }, { httpOnly: true, sameSite: 'Strict' });
  t.same(await page.evaluate('Object.keys(localStorage).concat(Object.keys(sessionStorage))'), [], 'nothing is stored');
  await page.close();
});
