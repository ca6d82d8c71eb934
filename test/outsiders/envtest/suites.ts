/** The public suites that run on envtest's programs: where they come from, and what differs on this project's programs. */

export interface EnvtestSuite {
  /** Unique together with the version. */
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** Patterns of packages, as `go test` takes them. */
  readonly packages: readonly string[];
  /** Replacements of required modules: `MODULE=MODULE@VERSION`. */
  readonly replace?: readonly string[];
  /** Lines of a shell script, run once in the copied module. */
  readonly prepare?: readonly string[];
  /** Tests that differ from those with kube-apiserver 1.24.17 and etcd. */
  readonly differs?: readonly Difference[];
}

export interface Difference {
  /** Matches the test's name, or where the test is a suite's first step, its package. */
  readonly test: RegExp;
  /** A sentence. */
  readonly reason: string;
}

const library = (name: string) => `k8s.io/${name}=k8s.io/${name}@v0.24.17`;
/** Older versions of this library panic when built by newer compilers. */
const reflect2 = 'github.com/modern-go/reflect2=github.com/modern-go/reflect2@v1.0.2';

export const envtestSuites: readonly EnvtestSuite[] = [
  {
    name: 'controller-runtime',
    module: 'sigs.k8s.io/controller-runtime',
    version: 'v0.12.3',
    packages: ['./pkg/...'],
    replace: [
      ...['api', 'apiextensions-apiserver', 'apimachinery', 'client-go', 'component-base'].map(library),
      reflect2,
    ],
  },
];
