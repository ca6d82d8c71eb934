import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';
import { workloadCases } from '#test/integration/apiserver/resources/workloads.js';

testResources(t, workloadCases, kubernetesDialect);
