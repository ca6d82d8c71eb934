import t from 'tap';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { clusterCases } from '#test/integration/apiserver/resources/cluster.js';
import { testResources } from '#test/integration/apiserver/resources/exercise.js';

testResources(t, clusterCases, kubernetesDialect);
