"""Which trajectories belong to which kind of posterior."""

from wordtide.embeddings.filtered import FilteredTrajectories
from wordtide.embeddings.posterior import Posterior
from wordtide.embeddings.smoothed import SmoothedTrajectories
from wordtide.embeddings.trajectories import PointTrajectories, Trajectories
from wordtide.model.prior import Diffusion


def trajectories_of(posterior: Posterior, diffusion: Diffusion) -> tuple[Trajectories, Trajectories]:
    """Answers for the word vectors and for the context vectors."""

    def one_side(side: str) -> Trajectories:
        knots, spread = posterior.knots, posterior.spread(side)
        mean = posterior.mean_u if side == "u" else posterior.mean_v
        if spread is None:
            return PointTrajectories(knots, diffusion.times, mean)
        if posterior.kind == "filter":
            return FilteredTrajectories(knots, diffusion, mean, spread)
        return SmoothedTrajectories(knots, diffusion, mean, spread)

    return one_side("u"), one_side("v")
