"""A small corpus drawn from a fixed generator, for results recorded by version 0.1."""

import numpy as np

WORDS = [f"w{number:02d}" for number in range(40)]
FITS = {
    "smoothing": {"method": "smoothing"},
    "smoothing-product": {"method": "smoothing", "prior": "product", "prior_variance": 1.0},
    "smoothing-auto": {"method": "smoothing", "diffusion": "auto"},
    "filtering": {"method": "filtering"},
    "filtering-product": {"method": "filtering", "prior": "product", "prior_variance": 1.0},
    "static": {"method": "static"},
    "warm-start": {"method": "warm-start"},
    "independent": {"method": "independent"},
}


def texts():
    """Five years of short texts in which topics move; some words are absent in some years."""
    generator = np.random.default_rng(20170806)
    documents = []
    for year in (1900, 1901, 1903, 1910, 1911):
        for _ in range(30):
            topic = generator.integers(4)
            weights = np.where(np.arange(40) % 4 == topic, 6.0, 1.0) / (1.0 + np.arange(40))
            weights[30:] *= year % 10 != 3
            weights = np.roll(weights, (year - 1900) // 5)
            drawn = generator.choice(40, size=40, p=weights / weights.sum())
            documents.append((str(year), " ".join(WORDS[number] for number in drawn)))
    return documents


def results(model):
    """The arrays of a model that a refit must reproduce."""
    posterior = model.fitted.posterior
    names = ("mean_u", "mean_v", "variance_u", "variance_v", "precision_u", "precision_v")
    found = {name: np.asarray(array) for name in names if (array := getattr(posterior, name)) is not None}
    found["elbo"] = np.array(np.nan if model.fitted.elbo is None else model.fitted.elbo)
    found["diffusion"] = np.array(model.fitted.diffusion.constant)
    if model.fitted.predictions is not None:
        found["predictions"] = np.asarray(model.fitted.predictions)
    return found
